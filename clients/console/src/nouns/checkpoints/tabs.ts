/** The views of a thread that load when they are opened, in one file of the build. */

export { DiffTab } from "./diff_tab.js";
export { StateTab } from "./state_tab.js";
export { StorageTab } from "./storage_tab.js";
export { TimelineTab } from "./timeline_tab.js";
