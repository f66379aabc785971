import { RathError } from "../../session/index.js";

/** The engine refused a request, or gave no answer to it: then the status is null. */
export class EngineError extends RathError {
  readonly status: number | null;

  constructor(request: string, status: number | null, reason: string, cause?: unknown) {
    super(
      "engine-refused",
      `The container engine ${status === null ? "did not answer" : "refused"} ${request}: ${reason}.`,
      {
        hint:
          status === null
            ? "see whether it runs: docker info"
            : "see what it says about itself: docker info, journalctl -u docker",
        data: { request, status, reason },
        cause,
      },
    );
    this.status = status;
  }
}

/** An archive that is cut off, damaged, or of a kind that is not read here. */
export class ArchiveError extends RathError {
  constructor(reason: string) {
    super("archive-refused", `Cannot read the archive of a workspace: ${reason}.`, {
      hint: "take the snapshot again; an engine that sends such archives every time is broken",
      data: { reason },
    });
  }
}
