export { approvals } from "../connect/front/approvals.js";
export { FrontError, type Handler } from "../connect/front/door.js";
export { nodeListener, serve } from "../connect/front/serve.js";
export {
  type UiMessage,
  uiStream,
} from "../connect/front/ui/index.js";
