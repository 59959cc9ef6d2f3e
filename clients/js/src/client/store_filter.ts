/** The types of filters on the values of items. */

/** A value without fields: a scalar of JSON, bytes, or a time, which is compared as its ISO text. */
type FilterScalar = string | number | bigint | boolean | null | Date | Uint8Array;

export type FilterValue =
  | FilterScalar
  | readonly FilterValue[]
  | { readonly [name: string]: FilterValue };

/** Order is typed: numbers by value, strings by code point, nothing across types. */
export interface FilterOperators {
  $eq?: FilterValue;
  /** There is a value, and it is another one. */
  $ne?: FilterValue;
  $gt?: string | number | bigint | Date;
  $gte?: string | number | bigint | Date;
  $lt?: string | number | bigint | Date;
  $lte?: string | number | bigint | Date;
  $in?: readonly FilterValue[];
  $nin?: readonly FilterValue[];
  $exists?: boolean;
  $not?: FilterCondition;
}

/** Conditions by field. No field begins with a `$`: that is an operator. */
type FieldConditions = { readonly [field: string]: FilterCondition } & {
  readonly [operator: `$${string}`]: never;
};

/** A value; operators; or an object that must have these fields. */
export type FilterCondition =
  | FilterScalar
  | readonly FilterValue[]
  | FilterOperators
  | FieldConditions;

type AllOrAny =
  | { readonly $or: readonly StoreFilter[] }
  | { readonly $and: readonly StoreFilter[] };

/** All must hold. A field with dots is that field, or else the path through objects. */
export type StoreFilter = {
  readonly $and?: readonly StoreFilter[];
  readonly $or?: readonly StoreFilter[];
  readonly $not?: FieldConditions | AllOrAny;
} & { readonly [field: string]: FilterCondition | readonly StoreFilter[] | AllOrAny };
