import { costText } from "../../../session/index.js";
import type { Dossier, ModelCall, Prompt } from "../dossier.js";
import { type Html, html } from "./html.js";
import { type Anchors, count, inline, items, lasting, line, told, when } from "./words.js";

/** Each call of a model: what it was asked, as it was rendered, and what it said. */
export function modelsSection({ models, spending }: Dossier, anchors: Anchors): Html {
  if (models.total === 0) return html``;
  const numbers = new Map(models.items.map((call, place) => [call.facts[0] ?? "", place]));
  const gap = models.gap ?? models.items.length;
  const left = models.total - models.items.length;
  const numberOf = (id: string): number | undefined => {
    const place = numbers.get(id);
    return place === undefined ? undefined : (place < gap ? place : place + left) + 1;
  };
  const { usage } = spending.total;
  return html`<section id="models" aria-labelledby="models-h"><h2 id="models-h">Model calls <span class="n">${models.total.toLocaleString("en")}</span></h2>
<p class="lead">${usage.input.toLocaleString("en")} tokens in, ${usage.output.toLocaleString("en")} out. Prompts are rendered again from the record and held against the digest that was recorded when they were sent.</p>
${items(models, (call, place) => item(call, place, anchors, numberOf))}</section>`;
}

function item(
  call: ModelCall,
  place: number,
  anchors: Anchors,
  numberOf: (id: string) => number | undefined,
): Html {
  const { usage, cost, error, finish } = call;
  return html`<details class="item" id="m-${(call.facts[0] ?? "").slice(0, 16)}"><summary><h3 dir="auto">${place + 1}. ${call.agent ?? call.by} asks ${call.model}</h3>${
    error !== undefined && html` <span class="tag bad">failed</span>`
  }${line(
    call.branch,
    when(call.at, "clock"),
    usage && `${usage.input.toLocaleString("en")} in, ${usage.output.toLocaleString("en")} out`,
    cost !== undefined && costText(cost),
    lasting(call.milliseconds),
    finish,
    call.calls.length > 0 && `wants ${call.calls.map(({ name }) => name).join(", ")}`,
    call.reply !== undefined && html`“${inline(call.reply, 100)}”`,
  )}</summary><div class="body">${prompt(call.prompt, anchors, numberOf)}${told(call.parameters, "Parameters of this call")}${told(call.reasoning, "Reasoning", "plain")}${told(call.reply, "Reply", "plain")}${call.calls.map(
    ({ name, input }) => told(input, `Wants ${name} with`),
  )}${told(error, "It failed")}${call.redacted && html`<p class="small warn">Secrets were taken out: ${call.redacted.join(", ")}</p>`}${
    call.from !== undefined &&
    html`<p class="small">The outcome was made in another run and taken over: ${anchors.id(call.from)}</p>`
  }${call.config !== undefined && html`<p class="small">Configured by ${anchors.id(call.config)}</p>`}${anchors.proofs(call.facts)}</div></details>`;
}

function prompt(asked: Prompt, anchors: Anchors, numberOf: (id: string) => number | undefined): Html {
  if (asked.state === "not-rendered")
    return html`<p class="label">Prompt</p><p class="small warn">Cannot be rendered again: ${asked.why}${asked.digest !== undefined && html` (its digest is <span class="id">${asked.digest.slice(0, 12)}</span>)`}</p>`;
  const { shared, news } = asked;
  const number = shared && numberOf(shared.call);
  return html`<details class="part"><summary>Prompt as rendered <span class="soft">(${count(asked.messages, "message")}, ${count(asked.characters, "character")})</span> <span class="tag good">digest checked</span></summary>
<p class="small soft">sha256 <span class="hash">${asked.digest}</span></p>${
    shared !== undefined &&
    html`<p class="small">It begins as that of call ${number === undefined ? anchors.id(shared.call) : html`<a href="#m-${shared.call.slice(0, 16)}">${number}</a>`}: the same tools and settings, and the same first ${count(shared.messages, "message")}. Then:</p>`
  }${told(asked.request, "Tools, output and parameters, as sent")}${news.map(
    ({ role, text }) =>
      html`<div class="said"><span class="who">${role}</span>${told(text, "", "plain")}</div>`,
  )}</details>`;
}
