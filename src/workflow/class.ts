import { forward, type Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { defined } from "../util/index.js";
import { checkOptions, type Parts } from "./define.js";
import { called, refusing, requireName } from "./options.js";
import { isModule, type Rebuilds, rebuild, type State } from "./state.js";
import { WORKFLOW_OPTIONS, type WorkflowOptions } from "./workflow.js";

/**
 * A workflow as a class, for people who prefer one. Modules assigned as fields are its parts.
 *
 * ```ts
 * class Review extends Workflow {
 *   readonly coder = agent({ name: "coder", model });
 *   readonly critic = agent({ name: "critic", model });
 *   async forward(session: Session) {
 *     return this.critic.forward(await this.coder.forward(session));
 *   }
 * }
 * session = await new Review().forward(session);
 * ```
 *
 * Its name is that of the class, unless `super("review")` gives another. Lists and records of modules are parts too. A class
 * with private fields (`#field`) implements `[rebuild](state, parts)`, so that `withState` can make another one.
 */
export abstract class Workflow implements Module, Rebuilds {
  readonly kind: string = "workflow";
  readonly name: string;

  constructor(name: string = new.target.name, options: WorkflowOptions = {}) {
    requireName(name, "workflow", EXAMPLE);
    checkOptions(options, WORKFLOW_OPTIONS, refusing(called("workflow", name)), EXAMPLE);
    this.name = name;
    bracket(this, options);
  }

  /** The modules in the fields of this object. */
  get parts(): Parts {
    return Object.fromEntries(
      modulesIn(this).map(({ field, key, module }) => [
        key === undefined ? field : `${field}.${key}`,
        module,
      ]),
    );
  }

  get state(): State {
    return defined({ budget: optionsOf(this).budget }) as State;
  }

  abstract forward(session: Session): Promise<Session>;

  [rebuild](state: State, parts: Parts): Module {
    const copy = Object.create(
      Object.getPrototypeOf(this),
      Object.getOwnPropertyDescriptors(this),
    ) as Workflow;
    const fields = copy as unknown as { [field: string]: Module | { [key: string]: Module } };
    for (const { field, key } of modulesIn(this)) {
      const part = parts[key === undefined ? field : `${field}.${key}`] as Module;
      if (key === undefined) Object.defineProperty(copy, field, { value: part });
      else {
        const holder = fields[field] as { [key: string]: Module };
        const own = Array.isArray(holder) ? [...holder] : { ...holder };
        Object.defineProperty(copy, field, { value: Object.assign(own, { [key]: part }) });
      }
    }
    bracket(copy, { ...optionsOf(this), ...state });
    return copy;
  }
}

/** Runs what the class calls `forward` between `module-enter` and `module-exit`; `super.forward` is not bracketed again. */
function bracket(workflow: Workflow, options: WorkflowOptions): void {
  const body = (Object.getPrototypeOf(workflow) as Partial<Workflow>).forward;
  if (typeof body !== "function")
    throw refusing(called("workflow", workflow.name))("its class has no method `forward`", EXAMPLE);
  allOptions.set(workflow, options);
  Object.defineProperty(workflow, "forward", {
    value: (session: Session) =>
      forward(workflow, session, (entered) => body.call(workflow, entered), options),
    configurable: true,
  });
}

const allOptions = new WeakMap<Workflow, WorkflowOptions>();

function optionsOf(workflow: Workflow): WorkflowOptions {
  return allOptions.get(workflow) ?? {};
}

type Field = { readonly field: string; readonly key?: string; readonly module: Module };

function modulesIn(workflow: Workflow): readonly Field[] {
  const found: Field[] = [];
  for (const [field, value] of Object.entries(workflow)) {
    if (isModule(value)) found.push({ field, module: value });
    else if (isHolder(value))
      for (const [key, module] of Object.entries(value))
        if (isModule(module)) found.push({ field, key, module });
  }
  return found;
}

/** A list or a plain record; other objects are the business of their class. */
function isHolder(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

const EXAMPLE = "class Review extends Workflow { async forward(session) { … } }";
