import type { Dossier, ToolCall } from "../dossier.js";
import { type Html, html } from "./html.js";
import { type Anchors, inline, items, lasting, line, pairs, told, when } from "./words.js";

const TONES: { readonly [state in ToolCall["state"]]: string } = {
  done: "",
  failed: "bad",
  open: "warn",
  "in doubt": "warn",
};

/** Each call of a tool, and each step, with arguments, outcome, effect and place. */
export function toolsSection({ tools }: Dossier, anchors: Anchors): Html {
  if (tools.total === 0) return html``;
  return html`<section id="tools" aria-labelledby="tools-h"><h2 id="tools-h">Tool calls and steps <span class="n">${tools.total.toLocaleString("en")}</span></h2>
${items(tools, (call, place) => item(call, place, anchors))}</section>`;
}

function item(call: ToolCall, place: number, anchors: Anchors): Html {
  return html`<details class="item"><summary><h3 dir="auto">${place + 1}. ${call.name}</h3> <span class="soft small">${inline(call.input, 80)}</span>${
    call.state !== "done" && html` <span class="tag ${TONES[call.state]}">${call.state}</span>`
  }${call.effect !== undefined && html` <span class="tag">${call.effect}</span>`}${line(
    call.branch,
    call.by,
    when(call.at, "clock"),
    lasting(call.milliseconds),
    call.attempts > 1 && `${call.attempts} attempts`,
  )}</summary><div class="body">${told(call.input, "Arguments")}${
    call.edited !== undefined &&
    html`<p class="small warn">Arguments were changed by ${call.edited.by}:</p>${told(call.edited.input, "")}`
  }${told(call.output, "Result")}${told(call.error, "Failure")}${call.troubles.map(
    ({ what, text, fact }) => html`<p class="small warn">${what} ${anchors.id(fact)}</p>${told(text, "")}`,
  )}${pairs([
    ["Effect", call.effect],
    ["Placement", call.placement],
    ["Sandbox", call.sandbox],
    ["Policy says", call.verdict],
    ["Result comes from", call.origin],
    [
      "Evidence",
      call.evidence.length > 0 &&
        call.evidence.map(({ type, fact }) => html`<code>${type}</code> ${anchors.id(fact)} `),
    ],
    ["Taken over from", call.from && anchors.id(call.from)],
    ["Secrets taken out", call.redacted?.join(", ")],
  ])}${told(call.source, "Where the tool is from")}${anchors.proofs(call.facts)}</div></details>`;
}
