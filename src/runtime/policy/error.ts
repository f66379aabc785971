import { RathError } from "../../session/index.js";

/** A policy that cannot be: a rule that makes no sense would be no rule. */
export class PolicyError extends RathError {
  constructor(name: string, reason: string, hint: string) {
    super("policy-refused", `Cannot make the policy ${JSON.stringify(name)}: ${reason}.`, {
      hint,
      data: { name, reason },
    });
  }
}
