import type { ExecResult } from "../sandbox.js";
import type { LocalExecution } from "./execution.js";
import type { Pipes, Slot } from "./pipes.js";

/** What a command needs of the sandbox it runs in. */
export interface ExecutionHost {
  readonly pipes: Pipes;
  /** Sends the order for the command into the sandbox. */
  begin(execution: LocalExecution, slot: Slot): void;
  /** It ended; its number means nothing from here on. */
  over(execution: LocalExecution): void;
  /** Sends a signal to the processes of a command. */
  signal(process: number, signal: string): Promise<void>;
  /** Ends the whole sandbox, because a command in it could not be ended. */
  abandon(why: string): void;
  /** How often a process of the sandbox was ended for want of memory. */
  outOfMemory(): number;
  /** Where the list stands of what was asked of the network. */
  networkMark(): number;
  /** What was asked of the network since then, where that is known. */
  network(since: number): ExecResult["network"];
}
