/** The only style sheet: its digest stands in the page's policy, so no other style counts. */
export const STYLE: string = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --raised: #ffffff; --sunk: #f3f1eb; --rule: #dfdbd1; --ink: #1d1c1a; --soft: #5f5b53;
  --accent: #175e7c; --good: #17663a; --bad: #a1262b; --warn: #7c5200;
  --add: #e2f2e6; --del: #fbe6e4; --hunk: #e8eef3;
  --l0: #4d6a8a; --l1: #17793f; --l2: #a14a1c; --l3: #7a3f8f; --l4: #8a6d00; --l5: #0d7377; --l6: #a62e5c; --l7: #5b5bb0;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", Arial, sans-serif;
  --serif: "Iowan Old Style", "Palatino Linotype", Palatino, Charter, Georgia, "Noto Serif", "DejaVu Serif", serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "Noto Sans Mono", "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16171a; --raised: #1d1f23; --sunk: #121316; --rule: #34373d; --ink: #e9e6df; --soft: #a8a49a;
    --accent: #7cc0de; --good: #7fcf9c; --bad: #f0908d; --warn: #e0b45c;
    --add: #173322; --del: #3d1d1f; --hunk: #1f2a33;
    --l0: #93aecb; --l1: #7fcf9c; --l2: #e69a6c; --l3: #cf9ae0; --l4: #d9bd52; --l5: #67c7c9; --l6: #ee92b4; --l7: #a9a9f0;
  }
}
* { box-sizing: border-box; }
html { font: 16px/1.55 var(--sans); background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%; }
body { margin: 0; overflow-wrap: anywhere; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
:target { background: var(--hunk); }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--raised); padding: .5rem 1rem; z-index: 2; }
.vh { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.frame { max-width: 1180px; margin: 0 auto; padding: 0 1.25rem 4rem; }
header.top { padding: 2.5rem 0 1.25rem; border-bottom: 1px solid var(--rule); }
.eyebrow { font-size: .75rem; letter-spacing: .14em; text-transform: uppercase; color: var(--soft); margin: 0 0 .6rem; }
h1, h2, h3 { font-family: var(--serif); font-weight: 600; line-height: 1.2; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: clamp(1.45rem, 1rem + 2.2vw, 2.2rem); margin: 0 0 .75rem; max-width: 30em; }
h2 { font-size: 1.45rem; margin: 0 0 .35rem; }
h3 { font-size: 1.02rem; margin: 0; font-family: var(--sans); font-weight: 600; }
h2 .n { font: 400 .85rem var(--sans); color: var(--soft); margin-left: .4rem; white-space: nowrap; }
p { margin: 0 0 .8rem; }
.soft { color: var(--soft); }
.small { font-size: .86rem; }
.meta { color: var(--soft); font-size: .88rem; margin: 0; overflow-wrap: anywhere; }
.meta > span + span::before { content: "·"; margin: 0 .45em; }
nav.contents { font-size: .9rem; }
nav.contents ol { list-style: none; margin: 0; padding: 0; }
nav.contents a { display: flex; justify-content: space-between; gap: 1rem; padding: .28rem 0; color: var(--ink); text-decoration: none; }
nav.contents a:hover { color: var(--accent); }
nav.contents .n { color: var(--soft); font-variant-numeric: tabular-nums; }
section { padding: 2.2rem 0 .4rem; border-bottom: 1px solid var(--rule); }
section:last-of-type { border-bottom: 0; }
.lead { color: var(--soft); max-width: 44em; margin-bottom: 1rem; }
.status { display: inline-block; font-weight: 600; font-size: .95rem; padding: .12rem .65rem; border: 1px solid currentColor; border-radius: 99px; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.answer { font: 1.15rem/1.55 var(--serif); border-left: 3px solid var(--accent); padding: .1rem 0 .1rem 1rem; margin: 1rem 0 1.4rem; max-width: 40em; white-space: pre-wrap; overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 0 1.5rem; margin: 1.2rem 0; padding: 0; }
.figures div { border-top: 1px solid var(--rule); padding: .55rem 0 .7rem; }
.figures dt { font-size: .8rem; color: var(--soft); }
.figures dd { margin: 0; font-size: 1.3rem; font-family: var(--serif); font-variant-numeric: tabular-nums lining-nums; }
.figures dd small { display: block; font: .8rem var(--sans); color: var(--soft); overflow-wrap: anywhere; }
.reasons { margin: 0 0 1rem; padding: 0; list-style: none; }
.reasons li { border-top: 1px solid var(--rule); padding: .7rem 0; overflow-wrap: anywhere; }
.reasons .why { white-space: pre-wrap; }
.id, code { font-family: var(--mono); font-size: .82em; }
.id { white-space: nowrap; color: var(--soft); text-decoration: none; }
a.id { color: var(--accent); } a.id:hover { text-decoration: underline; }
.hash { font-family: var(--mono); font-size: .84rem; overflow-wrap: anywhere; }
.proofs { color: var(--soft); font-size: .8rem; margin: .6rem 0 0; }
.proofs .id { margin-right: .35rem; }
pre { font: .83rem/1.5 var(--mono); margin: .4rem 0; padding: .65rem .8rem; background: var(--sunk); border: 1px solid var(--rule); border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; max-height: 36rem; overflow: auto; unicode-bidi: isolate; }
pre.plain { font-family: var(--sans); font-size: .93rem; }
pre.diff { white-space: pre; padding: .3rem 0; }
pre.diff span { display: block; padding: 0 .8rem; width: max-content; min-width: 100%; }
pre.diff .a { background: var(--add); } pre.diff .d { background: var(--del); } pre.diff .h { background: var(--hunk); color: var(--soft); }
.gone { border: 1px dashed var(--rule); color: var(--soft); padding: .3rem .6rem; border-radius: 4px; display: inline-block; margin: .3rem 0; font-size: .9rem; overflow-wrap: anywhere; }
details { margin: .35rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
details.item { border-top: 1px solid var(--rule); margin: 0; padding: .15rem 0; }
details.item > summary { padding: .5rem .25rem; list-style-position: outside; margin-left: 1.1rem; }
details.item > summary:hover { background: var(--sunk); }
details.item > summary > h3 { display: inline; overflow-wrap: anywhere; }
details.item > .body { padding: .1rem 0 1rem 1.35rem; }
details.part > summary { color: var(--soft); font-size: .88rem; }
.ink { color: var(--ink); }
.line { display: block; overflow-wrap: anywhere; color: var(--soft); font-size: .84rem; }
.line > span + span::before { content: "·"; margin: 0 .45em; }
.label { font-size: .84rem; font-weight: 600; color: var(--soft); margin: .9rem 0 .15rem; }
.said { border-left: 2px solid var(--rule); padding-left: .8rem; margin: .5rem 0; }
.said .who { font-size: .84rem; font-weight: 600; color: var(--soft); }
ul { margin: .2rem 0 .8rem; padding-left: 1.2rem; } li { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: .6rem 0 1rem; }
td code { overflow-wrap: anywhere; }
thead th:first-child { width: 22%; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th { text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); border-bottom: 1px solid var(--rule); padding: .3rem .8rem .3rem 0; white-space: nowrap; }
td { border-bottom: 1px solid var(--rule); padding: .4rem .8rem .4rem 0; vertical-align: top; overflow-wrap: anywhere; }
th.num, td.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.nowrap { white-space: nowrap; }
td.words { min-width: 12rem; }
tbody th { font-weight: 500; font-size: .9rem; color: var(--ink); white-space: normal; overflow-wrap: anywhere; }
dl.pairs { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1rem; margin: .4rem 0; font-size: .92rem; }
dl.pairs dt { color: var(--soft); } dl.pairs dd { margin: 0; overflow-wrap: anywhere; }
.more { color: var(--soft); font-style: italic; padding: .6rem 0; margin: 0; }
.graph { display: grid; grid-template-columns: max-content minmax(12rem, 1fr); margin: 1rem 0; overflow-x: auto; }
.graph svg { display: block; }
.graph ol { list-style: none; margin: 0; padding: 0; min-width: 0; }
.graph li { height: 46px; padding: 4px 0 0 10px; overflow: hidden; line-height: 1.3; }
.graph li b { display: block; font-weight: 500; font-size: .92rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.graph li .line { font-size: .78rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.graph li.fork b, .graph li.merge b, .graph li.end b { font-weight: 650; }
.edge { fill: none; stroke-width: 2.2; }
.edge.rejected { stroke-dasharray: 3 4; }
.dot { stroke-width: 2.2; fill: var(--paper); }
.dot.good { fill: var(--good); stroke: var(--good); } .dot.bad { fill: var(--bad); stroke: var(--bad); }
.cross { stroke: var(--paper); stroke-width: 1.6; fill: none; }
.s0 { stroke: var(--l0); } .s1 { stroke: var(--l1); } .s2 { stroke: var(--l2); } .s3 { stroke: var(--l3); }
.s4 { stroke: var(--l4); } .s5 { stroke: var(--l5); } .s6 { stroke: var(--l6); } .s7 { stroke: var(--l7); }
.solid.s0 { fill: var(--l0); } .solid.s1 { fill: var(--l1); } .solid.s2 { fill: var(--l2); } .solid.s3 { fill: var(--l3); }
.solid.s4 { fill: var(--l4); } .solid.s5 { fill: var(--l5); } .solid.s6 { fill: var(--l6); } .solid.s7 { fill: var(--l7); }
.tag { font-size: .8rem; border: 1px solid var(--rule); border-radius: 3px; padding: 0 .4rem; overflow-wrap: anywhere; color: var(--soft); box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.tag.good, .tag.bad, .tag.warn { border-color: currentColor; }
.tag.good { color: var(--good); } .tag.bad { color: var(--bad); } .tag.warn { color: var(--warn); }
footer { color: var(--soft); font-size: .85rem; padding-top: 2rem; }
@media (min-width: 980px) {
  .columns { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 3.2rem; }
  nav.contents { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 2.2rem .5rem 2rem 0; }
  nav.contents summary { display: none; }
}
@media (max-width: 979px) {
  nav.contents { border-bottom: 1px solid var(--rule); padding: .8rem 0; }
  nav.contents summary { font-weight: 600; }
  nav.contents ol { columns: 2; column-gap: 2rem; padding-top: .4rem; }
  .graph svg { max-width: 34vw; }
}
@media (max-width: 520px) {
  html { font-size: 15px; }
  .frame { padding: 0 1rem 3rem; }
  header.top { padding-top: 1.5rem; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 1rem; }
  details.item > .body { padding-left: .2rem; }
  dl.pairs { grid-template-columns: minmax(0, 1fr); } dl.pairs dd { margin-bottom: .4rem; }
}
@media print {
  :root { --paper: #fff; --raised: #fff; --sunk: #fff; --ink: #000; --soft: #444; --rule: #bbb; --accent: #000;
    --good: #0a4d27; --bad: #8a1013; --warn: #5c3d00; --add: #f1f8f2; --del: #fcf2f1; --hunk: #f4f4f4;
    --l0: #4d6a8a; --l1: #17793f; --l2: #a14a1c; --l3: #7a3f8f; --l4: #8a6d00; --l5: #0d7377; --l6: #a62e5c; --l7: #5b5bb0; }
  @page { margin: 16mm 14mm; }
  html { font-size: 10pt; background: #fff; }
  .frame { max-width: none; padding: 0; }
  .columns { display: block; }
  nav.contents, .skip { display: none; }
  details::details-content { content-visibility: visible; display: block; block-size: auto; }
  summary { list-style: none; }
  summary::-webkit-details-marker { display: none; }
  pre { max-height: none; overflow: visible; white-space: pre-wrap; }
  pre.diff { white-space: pre-wrap; } pre.diff span { width: auto; }
  h2, h3, summary { break-after: avoid; }
  .graph li, tr, .figures div { break-inside: avoid; }
  a { text-decoration: none; }
}
`;
