import type { Observation, Rath } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";

/**
 * Hears what happens in the run of a name, from when it begins, or goes on if `run` says which. Gives back the way to stop.
 */
export function follow(
  rath: Rath,
  { name, run }: { readonly name: string; readonly run: string | undefined },
  hear: (observation: Observation) => void,
): () => void {
  let nonce = run;
  return rath.observe((observation) => {
    const { fact }: Session = observation.kind === "fact" ? observation.session : observation.request;
    if (fact.type === "run-start" && fact.name === name) nonce = fact.nonce;
    if (nonce !== undefined && fact.run === nonce) hear(observation);
  });
}
