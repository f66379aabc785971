import { type Json, RathError } from "../../session/index.js";

/** A policy of a job that makes no sense. */
export class JobPolicyError extends RathError {
  constructor(setting: string, reason: string, hint: string, data: { [name: string]: Json } = {}) {
    super("job-policy-refused", `Cannot run a job with this ${setting}: ${reason}.`, {
      hint,
      data: { setting, reason, ...data },
    });
  }
}
