import type { Json } from "../../../session/index.js";
import type { Imported, ImportFormat } from "../exchange.js";
import { type Fields, isTime, own, textIn, without } from "../fields.js";
import { beginning, defineImport, type Foreign } from "../foreign.js";
import { Arrival, nameOf } from "../trajectory/arrival.js";
import { NOTES, SampleStory } from "./sample.js";
import { ArchiveFault, isZip, readZip } from "./zip.js";

export const inspect: ImportFormat = defineImport({
  name: "inspect",
  title: "Logs of Inspect (EvalLog 2), as JSON or as an .eval archive: a session for each sample and epoch",
  fits(source) {
    if (isZip(source.bytes)) return source.name.endsWith(".eval") || beginning(source).includes("_journal/");
    return (
      /"version"\s*:\s*2\b/.test(beginning(source, 1024)) &&
      /"(eval|status)"\s*:/.test(beginning(source, 4096))
    );
  },
  read,
});

function read(foreign: Foreign): readonly Imported[] {
  const { name: file, bytes } = foreign.source;
  const { log, samples, others } = isZip(bytes) ? fromArchive(foreign) : fromJson(foreign);
  if (own(log, "version") !== 2) foreign.refuse("version", "only logs of version 2 are read");
  foreign.object(own(log, "eval"), "eval");
  if (samples.length === 0) return [logAlone(foreign, log, others)];
  const seen = new Set<string>();
  return samples.map((sample, place) => {
    const where = `samples[${place}]`;
    const [id, epoch] = [own(sample, "id"), own(sample, "epoch")];
    if ((typeof id !== "string" && typeof id !== "number") || typeof epoch !== "number")
      return foreign.refuse(where, "it has no id and epoch");
    const name = `${id}/${epoch}`;
    if (seen.has(name)) foreign.refuse(where, `sample ${id} of epoch ${epoch} is there twice`);
    seen.add(name);
    return new SampleStory(foreign, log, sample, where, others).tell(nameOf(file, id, epoch), name);
  });
}

/** A log of an evaluation that ended before its first sample did: what it says about itself is all there is. */
function logAlone(foreign: Foreign, log: Fields, others: Fields | undefined): Imported {
  const { task = null, model = null, created } = log.eval as Fields;
  const status = textIn(log, "status");
  const arrival = Arrival.start(foreign, {
    name: "log",
    at: [created].find(isTime),
    detail: { task, model, status: own(log, "status") ?? null },
  });
  arrival.keep(NOTES.log, log, "log");
  if (others !== undefined) arrival.keep(NOTES.archive, others, "archive");
  foreign.warnings.add(
    `The log has no samples${status === undefined ? "" : `: the status of the evaluation is ${status}`}.`,
  );
  return arrival.imported(nameOf(foreign.source.name));
}

type Log = {
  readonly log: Fields;
  readonly samples: readonly Fields[];
  /** The other files of an archive. */
  readonly others?: Fields;
};

function fromJson(foreign: Foreign): Log {
  const log = foreign.object(foreign.json(), "");
  return { log: without(log, "samples"), samples: foreign.objects(log.samples ?? [], "samples") };
}

function fromArchive(foreign: Foreign): Log {
  const files = new Map<string, Json>();
  try {
    for (const [name, bytes] of readZip(foreign.source.bytes)) {
      const text = foreign.text(bytes, name);
      files.set(name, name.endsWith(".json") ? foreign.json(text, name) : text);
    }
  } catch (error) {
    if (error instanceof ArchiveFault) return foreign.refuse("", error.message, { cause: error });
    throw error;
  }
  const header = files.get("header.json") ?? files.get("_journal/start.json");
  const isSample = (name: string): boolean => /^samples\/.*\.json$/.test(name);
  const rest = [...files].filter(([name]) => name !== "header.json" && !isSample(name));
  return {
    log: foreign.object(header, "header.json"),
    samples: [...files].flatMap(([name, value]) => (isSample(name) ? [foreign.object(value, name)] : [])),
    others: Object.fromEntries(rest),
  };
}
