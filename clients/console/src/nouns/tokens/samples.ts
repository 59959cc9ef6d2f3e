/** Code that makes a token, and prints its text. */

import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import type { Samples } from "../../parts/code.js";
import { mintBody, mintOptions, type TokenDraft } from "./draft.js";

export function mintSamples(draft: TokenDraft): Samples {
  const body = mintBody(draft);
  // The packages print a token without its text.
  return samplesOf(
    { method: "POST", path: "/v1/tokens", body },
    {
      typescript: `(${methodText("tokens.mint", mintOptions(draft))}).token`,
      python: `${pythonMethodText("tokens.mint", [], body)}.token`,
    },
  );
}
