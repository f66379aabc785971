import type { Budget, Module, Rath } from "../../../runtime/index.js";
import type { Principal } from "../../../session/index.js";
import type { FrontSender } from "../answer.js";
import type { DoorOptions } from "../door.js";
import type { UiVersion } from "./chunk.js";

export type UiOptions = DoorOptions & {
  /** The name of the session of a chat. Default: `ui/<who>/<chat>`, so that nobody reaches into another's. */
  readonly name?: (chatId: string, who: Principal) => string;
  /** The budget of each run. */
  readonly budget?: Budget;
  /** The major version of `ai` in the front end. Default 7. Version 5 gets approvals as data parts alone. */
  readonly version?: UiVersion;
};

/** Everything that a request is answered with: the runtime, the module, and who asks. */
export type UiDoor = Omit<UiOptions, "version" | "name" | "mayApprove"> &
  FrontSender & {
    readonly rath: Rath;
    readonly module: Module;
    readonly version: UiVersion;
  };
