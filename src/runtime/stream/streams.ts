import type { Content, Session } from "../../session/index.js";
import { requireKnown, requireModule } from "../given.js";
import type { Module } from "../module.js";
import { type ReplaySettings, RUN_SETTINGS, type RunSettings } from "../rath-options.js";
import type { Runs } from "../run/runs.js";
import type { TurnSettings, Turns } from "../turn.js";
import { RunStream } from "./stream.js";

/** Runs whose events are read while they happen. */
export type Streams = {
  /** As `rath.run`: the events of the run, with the session at its end as `result`. */
  (module: Module, session: Session, settings?: RunSettings): RunStream;
  /** As `rath.resume`: the events from where the run goes on. */
  resume(nameOrId: string, module: Module, settings?: Pick<RunSettings, "signal">): RunStream;
  /** As `rath.replay`: the events of what is new, as in a what-if. `rath.steps` tells what is recorded. */
  replay(nameOrId: string, module: Module, settings?: ReplaySettings): RunStream;
  /** As `rath.turn`. */
  turn(module: Module, name: string, text?: Content, settings?: TurnSettings): RunStream;
};

export function streamsOf(runs: Runs, turns: Turns): Streams {
  return Object.freeze(
    Object.assign(
      (module: Module, session: Session, settings: RunSettings = {}) =>
        new RunStream(nameOf(module), signalOf(settings), (follower, signal) =>
          runs.run(module, session, { ...settings, signal }, follower),
        ),
      {
        resume: (nameOrId: string, module: Module, settings: Pick<RunSettings, "signal"> = {}) =>
          new RunStream(nameOf(module), signalOf(settings), (follower, signal) =>
            runs.resume(nameOrId, module, { ...settings, signal }, follower),
          ),
        replay: (nameOrId: string, module: Module, settings: ReplaySettings = {}) =>
          new RunStream(nameOf(module), settings.signal, (follower, signal) =>
            runs.replay(nameOrId, module, { ...settings, signal }, follower),
          ),
        turn: (module: Module, name: string, text?: Content, settings: TurnSettings = {}) =>
          new RunStream(nameOf(module), signalOf(settings), (follower, signal) =>
            turns.take(module, name, text, { ...settings, signal }, follower),
          ),
      },
    ),
  );
}

function nameOf(module: Module): string {
  requireModule(module, "stream it");
  return module.name;
}

function signalOf(settings: Pick<RunSettings, "signal">): AbortSignal | undefined {
  requireKnown(settings, [...RUN_SETTINGS, "once"], "stream a run");
  return settings.signal;
}
