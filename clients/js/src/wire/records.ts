/**
 * Records of answers in the words of JavaScript. A record is declared by the fields that it takes of an answer and what
 * each of them must be; the names are checked against the server's document by the compiler, the rest when it is read.
 */

import { ProtocolError } from "../errors.js";
import { jsonIn, listIn, numberIn, objectOf, optionalTextIn, textIn, textsIn } from "./answers.js";
import { wideTextIn } from "./wide_text.js";

type Raw = Record<string, unknown>;
type Read<T> = (raw: Raw, name: string) => T;
/** Which fields of an answer's object to take. Those of later servers are left out. */
type Fields<T> = { readonly [Name in keyof T & string]?: Read<unknown> };
type Camel<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
type Value<R> = R extends Read<infer T> ? T : never;
type Simple<T> = { [Name in keyof T]: T[Name] };

/** The type of the records that a declaration reads. Fields that may be absent are optional. */
export type RecordOf<F> = Simple<
  {
    [Name in keyof F as undefined extends Value<F[Name]> ? never : Camel<Name>]: Value<F[Name]>;
  } & {
    [Name in keyof F as undefined extends Value<F[Name]> ? Camel<Name> : never]?: Value<F[Name]>;
  }
>;

export type Reader<F> = (found: unknown) => RecordOf<F>;

/** Declares the record of an object of the document: `recordOf<Schemas["Thread"]>()("a thread", { thread_id: text })`. */
export function recordOf<T extends object>() {
  return <F extends Fields<T>>(
    what: string,
    fields: F & { readonly [Name in Exclude<keyof F, keyof T>]: never },
  ): Reader<F> => {
    return (found) => {
      const raw = objectOf<Raw>(found, what);
      const read = Object.entries(fields as Record<string, Read<unknown>>)
        .map(([name, read]) => [camel(name), read(raw, name)] as const)
        .filter(([, value]) => value !== undefined);
      return Object.fromEntries(read) as RecordOf<F>;
    };
  };
}

export const text: Read<string> = (raw, name) => textIn(raw, name);
export const optionalText: Read<string | undefined> = (raw, name) => optionalTextIn(raw, name);
/** Text that may hold half a surrogate pair. */
export const wideText: Read<string> = (raw, name) => wideTextIn(raw, name);
export const optionalWideText: Read<string | undefined> = (raw, name) => {
  return isAbsent(raw, name) ? undefined : wideTextIn(raw, name);
};
export const number: Read<number> = (raw, name) => numberIn(raw, name);
export const optionalNumber: Read<number | undefined> = (raw, name) => {
  return isAbsent(raw, name) ? undefined : numberIn(raw, name);
};
export const flag: Read<boolean> = (raw, name) => {
  const value = raw[name];
  if (typeof value !== "boolean") throw wrong(name);
  return value;
};
/** A time; JavaScript keeps its milliseconds. */
export const time: Read<Date> = (raw, name) => {
  const found = new Date(textIn(raw, name));
  if (Number.isNaN(found.getTime())) throw wrong(name);
  return found;
};
export const optionalTime: Read<Date | undefined> = (raw, name) => {
  return isAbsent(raw, name) ? undefined : time(raw, name);
};
export const texts: Read<string[]> = (raw, name) => textsIn(raw, name);
export const optionalTexts: Read<string[] | undefined> = (raw, name) => {
  return isAbsent(raw, name) ? undefined : textsIn(raw, name);
};
/** Any value as it is, null too. */
export const anything: Read<unknown> = (raw, name) => raw[name];
/** An object as it is, its names too. */
export const asIs =
  <T extends object>(): Read<T> =>
  (raw, name) =>
    objectOf<T>(raw[name], name);
export const optionalAsIs =
  <T extends object>(): Read<T | undefined> =>
  (raw, name) =>
    isAbsent(raw, name) ? undefined : objectOf<T>(raw[name], name);
/** An object that the server answers as exact text. */
export const json: Read<Record<string, unknown>> = (raw, name) => jsonIn(raw, name);
export const nested =
  <T>(read: (found: unknown) => T): Read<T> =>
  (raw, name) =>
    read(raw[name]);
export const optionalNested =
  <T>(read: (found: unknown) => T): Read<T | undefined> =>
  (raw, name) =>
    isAbsent(raw, name) ? undefined : read(raw[name]);
export const list =
  <T>(read: (found: unknown) => T): Read<T[]> =>
  (raw, name) =>
    (listIn(raw, name as never) as unknown[]).map(read);
export const optionalList =
  <T>(read: (found: unknown) => T): Read<T[] | undefined> =>
  (raw, name) =>
    isAbsent(raw, name) ? undefined : list(read)(raw, name);
export const optionalFlag: Read<boolean | undefined> = (raw, name) => {
  return isAbsent(raw, name) ? undefined : flag(raw, name);
};

function isAbsent(raw: Raw, name: string): boolean {
  return raw[name] === undefined || raw[name] === null;
}

function camel(name: string): string {
  return name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

function wrong(name: string): ProtocolError {
  return new ProtocolError(`the answer lacks ${name}, or has something else there`);
}
