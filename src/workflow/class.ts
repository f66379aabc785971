import { canonical, forward, type Module } from "../runtime/index.js";
import type { Json, Session } from "../session/index.js";
import { defined } from "../util/index.js";
import { checkOptions, type Parts } from "./define.js";
import { StateError } from "./error.js";
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
 * Its name is that of the class, unless `super("review")` gives another; give one where a bundler renames classes. Lists and
 * records of modules are parts too. A class with private fields (`#field`) implements `[rebuild](state, parts)`, so that
 * `withState` can make another one.
 */
export abstract class Workflow implements Module, Rebuilds {
  readonly kind: string = "workflow";
  readonly name: string;

  constructor(name: string = new.target.name, options: WorkflowOptions = {}) {
    requireName(name, "workflow", EXAMPLE);
    this.name = name;
    bracket(this, options);
  }

  /** The modules in the fields of this object. */
  get parts(): Parts {
    const parts: { [name: string]: Module } = {};
    for (const { field, key, module } of modulesIn(this)) {
      const name = nameOf(field, key);
      if (Object.hasOwn(parts, name))
        throw refusing(called("workflow", this.name))(`two of its parts are called "${name}"`, EXAMPLE);
      parts[name] = module;
    }
    return parts;
  }

  get state(): State {
    return defined({ budget: optionsOf(this).budget }) as State;
  }

  abstract forward(session: Session): Promise<Session>;

  /** A copy with other parts and other state. The other contents of its fields are shared with this one. */
  [rebuild](state: State, parts: Parts): Module {
    const { forward: _, ...fields } = Object.getOwnPropertyDescriptors(this);
    const copy = Object.create(Object.getPrototypeOf(this), fields) as Workflow;
    for (const { field, key } of modulesIn(this)) {
      const part = parts[nameOf(field, key)] as Module;
      put(copy, field, key === undefined ? part : withEntry(fieldOf(copy, field), key, part));
    }
    const { budget, ...own } = state;
    if (Object.hasOwn(copy, "state")) put(copy, "state", state);
    else for (const [name, value] of Object.entries(own)) putState(copy, name, value);
    bracket(copy, { ...optionsOf(this), ...(defined({ budget }) as WorkflowOptions) });
    return copy;
  }
}

function nameOf(field: string, key: string | undefined): string {
  return key === undefined ? field : `${field}.${key}`;
}

function fieldOf(workflow: Workflow, field: string): unknown {
  return Object.getOwnPropertyDescriptor(workflow, field)?.value;
}

function put(workflow: Workflow, field: string, value: unknown): void {
  Object.defineProperty(workflow, field, { value });
}

/** State of the class itself is in fields of the same names; other state only its class can bring back. */
function putState(copy: Workflow, name: string, value: Json): void {
  if (canonical(copy.state[name] ?? null) === canonical(value)) return;
  if (Object.hasOwn(copy, name)) put(copy, name, value);
  if (canonical(copy.state[name] ?? null) === canonical(value)) return;
  throw new StateError(
    `Cannot change "${name}" of "${copy.name}": it is not a field of its class.`,
    "keep it in a field of this name, or implement [rebuild](state, parts)",
    { module: copy.name, name },
  );
}

/** The same list or record with another entry. */
function withEntry(holder: unknown, key: string, module: Module): unknown {
  const own = Array.isArray(holder) ? [...holder] : { ...(holder as object) };
  return Object.assign(own, { [key]: module });
}

/** Runs what the class calls `forward` between `module-enter` and `module-exit`; `super.forward` is not bracketed again. */
function bracket(workflow: Workflow, options: WorkflowOptions): void {
  const refuse = refusing(called("workflow", workflow.name));
  checkOptions(options, WORKFLOW_OPTIONS, refuse, EXAMPLE);
  const body = (Object.getPrototypeOf(workflow) as Partial<Workflow>).forward;
  if (typeof body !== "function") throw refuse("its class has no method `forward`", EXAMPLE);
  allOptions.set(workflow, options);
  // It cannot be replaced: a field of this name would run without its bracket and its budget.
  Object.defineProperty(workflow, "forward", {
    value: (session: Session) =>
      forward(workflow, session, (entered) => body.call(workflow, entered), options),
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
