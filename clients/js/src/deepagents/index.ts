/** For deepagents: backends that keep an agent's files, and the routes that keep them out of checkpoints. */

export { type Aliases, ThreadkeepRoutes } from "./aliases.js";
export { ThreadkeepBackend } from "./backend.js";
export { ThreadkeepBackendV1 } from "./backend_v1.js";
export type { BackendContext, RunConfig } from "./context.js";
export {
  type DriveOptions,
  driveBackend,
  type ThreadkeepRoutesOptions,
  threadkeepRoutes,
  type UserId,
} from "./routes.js";
export type { NamespaceOption, ThreadkeepBackendOptions } from "./space.js";
