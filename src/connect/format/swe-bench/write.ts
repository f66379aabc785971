import { ExportError } from "../error.js";
import type { ExportFormat, Subject } from "../exchange.js";
import { Lines } from "../trajectory/line.js";
import { acceptedIn } from "../trajectory/patch.js";

/** One prediction: the accepted patch of a session, under the name of the session, which is that of the instance. */
export const sweBenchExport: ExportFormat = {
  name: "swe-bench",
  title: "Prediction for SWE-bench: the accepted patch as one line of JSON",
  extension: ".jsonl",
  async write(subject: Subject): Promise<string> {
    const { head, main } = await Lines.of(subject);
    const accepted = await acceptedIn("swe-bench", head, main, subject.store);
    if (accepted === undefined || accepted.patch === "")
      throw new ExportError(
        "swe-bench",
        head.id,
        "it has no accepted patch: it never had files, or they are as they were",
        'give the session files before it works on them: session.to("local", { workspace: "./repo" })',
      );
    const asked = main.find(({ fact }) => fact.type === "model-call")?.fact;
    const prediction = {
      instance_id: subject.name ?? head.id,
      model_name_or_path: asked?.type === "model-call" ? asked.model : "openrath",
      model_patch: accepted.patch,
    };
    return `${JSON.stringify(prediction)}\n`;
  },
};
