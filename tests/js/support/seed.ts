/** What fast-check makes comes from one seed, unless the settings want other examples in each run. */

import fc from "fast-check";
import { DERANDOMIZED } from "./settings.js";

if (DERANDOMIZED) fc.configureGlobal({ seed: 1 });
