/** Reads the answers of the upload calls as records. */

import { flag, list, number, recordOf, text, texts, time } from "../wire/records.js";
import type { Schemas } from "../wire/schemas.js";

/** A part that has arrived. `sha256` is hexadecimal, parts count from 1. */
export type UploadPart = ReturnType<typeof uploadPart>;
export const uploadPart = recordOf<Schemas["UploadPart"]>()("a part of an upload", {
  part: number,
  size_bytes: number,
  sha256: text,
});

/** An upload and the parts that have arrived. It goes at `expiresAt` if nothing more arrives. */
export type Upload = ReturnType<typeof upload>;
export const upload = recordOf<Schemas["Upload"]>()("an upload", {
  upload_id: text,
  namespace: texts,
  path: text,
  created_at: time,
  expires_at: time,
  is_complete: flag,
  parts: list(uploadPart),
});

export const begunUpload = recordOf<Schemas["BegunUpload"]>()("a begun upload", {
  upload_id: text,
});
