export { FrontError, type Handler } from "../connect/front/door.js";
export { nodeListener, type Served, type ServeOptions, serve } from "../connect/front/serve.js";
export {
  type UiApprovalsOptions,
  type UiAwaited,
  type UiMessage,
  type UiOptions,
  type UiPart,
  type UiVersion,
  uiApprovals,
  uiStream,
} from "../connect/front/ui/index.js";
