/** The requests and answers by their names. What they look like is in `openapi.ts`, made from the server's own document. */

import type { components, paths } from "./openapi.js";

export type Schemas = components["schemas"];

/** A call that takes a body. */
export type Path = {
  [P in keyof paths]: paths[P] extends { post: { requestBody: unknown } } ? P : never;
}[keyof paths];

type Post<P extends Path> = paths[P] extends { post: infer Operation } ? Operation : never;

/** The body of a call. */
export type Body<P extends Path> =
  Post<P> extends { requestBody: { content: { "application/msgpack": infer Found } } }
    ? Loose<Found>
    : never;

/** The answer of a call that succeeded. */
export type AnswerOf<P extends Path> =
  Post<P> extends { responses: { 200: { content: { "application/msgpack": infer Found } } } }
    ? Found
    : never;

/** A call without a body. */
export type GetPath = {
  [P in keyof paths]: paths[P] extends { get: Answering } ? P : never;
}[keyof paths];

interface Answering {
  responses: { 200: { content: { "application/msgpack": unknown } } };
}

/** Its parameters. */
export type Query<P extends GetPath> = paths[P] extends { get: { parameters: { query?: infer Q } } }
  ? [NonNullable<Q>] extends [never]
    ? Record<never, never>
    : Loose<NonNullable<Q>>
  : Record<never, never>;

/** Its answer. */
export type GotOf<P extends GetPath> = paths[P] extends { get: infer Found extends Answering }
  ? Found["responses"][200]["content"]["application/msgpack"]
  : never;

/** Entries that are undefined are not sent, so they may stand where an entry may be absent. */
type Loose<T> = { [Name in keyof T]: undefined extends T[Name] ? T[Name] | undefined : T[Name] };
