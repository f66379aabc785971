export { FrontError, type Handler } from "../connect/front/door.js";
export { nodeListener, type Served, type ServeOptions, serve } from "../connect/front/serve.js";
export {
  type ApprovalsOptions,
  type AwaitedApproval,
  approvals,
  type UiMessage,
  type UiOptions,
  type UiPart,
  type UiVersion,
  uiStream,
} from "../connect/front/ui/index.js";
