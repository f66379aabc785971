import { sandboxTools, type Tool } from "openrath/tool";
import type { Workspace } from "../../src/agent/tool/sandbox/testing/workspace.js";
import { inside } from "./past.js";
import type { Action, Trajectory } from "./trajectory.js";

/** What became of a recorded action when it was done with our tools. */
export type Done =
  | { readonly done: true; readonly output: string }
  | { readonly done: false; readonly message: string };

/** Does recorded actions with the tools for a sandbox. It keeps what the recorded interface kept: the open file. */
export class Driver {
  readonly #workspace: Workspace;
  readonly #root: string;
  readonly #tools: ReadonlyMap<string, Tool>;
  #open = "";

  constructor(workspace: Workspace, { root }: Trajectory) {
    this.#workspace = workspace;
    this.#root = root;
    this.#tools = new Map(sandboxTools({ maxOutput: 100_000 }).map((tool) => [tool.name, tool]));
  }

  /** The file that the recorded interface would have open. */
  get open(): string {
    return this.#open;
  }

  async act(action: Action): Promise<Done> {
    switch (action.type) {
      case "create":
        this.#open = inside(action.path, this.#root);
        return this.call("write", { path: this.#open, text: "\n" });
      case "open":
        this.#open = inside(action.path, this.#root);
        return this.call("view", { path: this.#open });
      case "find":
        return this.call("find", {
          name: action.name,
          ...(action.directory !== undefined && { path: action.directory }),
        });
      case "replace":
        return this.call("edit", { path: this.#open, old: action.search, new: action.replace });
      case "insert":
        // Without a line: behind the last one.
        return this.call("edit", { path: this.#open, line: (await this.lines()).length, new: action.text });
      case "lines":
        return this.#lines(action);
      case "command":
        // Where there is a python at all it is called python3.
        return this.call("shell", { command: action.command.replace(/^python /, "python3 ") });
      case "submit":
        return this.call("shell", { command: "git add -A && git diff --cached" });
    }
  }

  async call(name: string, input: { readonly [field: string]: string | number }): Promise<Done> {
    try {
      return { done: true, output: await this.#workspace.say(this.#tools.get(name) as Tool, input) };
    } catch (error) {
      return { done: false, message: (error as Error).message };
    }
  }

  async lines(): Promise<readonly string[]> {
    return (await this.#workspace.read(this.#open)).split("\n").slice(0, -1);
  }

  /** An edit of lines is one of the text that stands there; a file without any text is written. */
  async #lines({ from, to, text }: Extract<Action, { type: "lines" }>): Promise<Done> {
    const old = (await this.lines()).slice(from - 1, to).join("\n");
    return old === ""
      ? this.call("write", { path: this.#open, text: `${text}\n` })
      : this.call("edit", { path: this.#open, old, new: text });
  }
}
