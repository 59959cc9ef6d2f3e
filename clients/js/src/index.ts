/** The errors that everything in this package throws. The checkpointer is in `threadkeep/langgraph`. */

export {
  CodecError,
  ConflictError,
  type ErrorDetails,
  FenceStaleError,
  InternalError,
  InvalidError,
  LeaseHeldError,
  NotFoundError,
  NotGrantedError,
  ProtocolError,
  ResendWholeError,
  ThreadExistsError,
  ThreadkeepError,
  ThreadRestoredError,
  TooLargeError,
  TransportError,
  UnauthorizedError,
  UnavailableError,
} from "./errors.js";
