import type { ExportFormat, Subject } from "../exchange.js";
import { Lines } from "../trajectory/line.js";
import { requireAccepted } from "../trajectory/patch.js";

/** One prediction: the accepted patch of a session, under the name of the session, which is that of the instance. */
export const sweBenchExport: ExportFormat = {
  name: "swe-bench",
  title: "Prediction for SWE-bench: the accepted patch as one line of JSON",
  extension: ".jsonl",
  async write(subject: Subject): Promise<string> {
    const lines = await Lines.of(subject);
    const { head, main } = lines;
    const { patch } = await requireAccepted("swe-bench", lines, subject.store, 1);
    const asked = main.find(({ fact }) => fact.type === "model-call")?.fact;
    const prediction = {
      instance_id: subject.name ?? head.id,
      model_name_or_path: asked?.type === "model-call" ? asked.model : "openrath",
      model_patch: patch,
    };
    return `${JSON.stringify(prediction)}\n`;
  },
};
