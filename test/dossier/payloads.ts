/** Where hostile words would tell of themselves: a function of the page that must never be called, and an address. */
export type Target = { readonly address: string };

type Make = (run: string, address: string) => string;

const SCRIPTS: readonly Make[] = [
  (run) => `<script>${run}</script>`,
  (run) => `<SCRIPT>${run}</SCRIPT >`,
  (run) => `<script\n>${run}</script\n>`,
  (_, address) => `<script src="${address}"></script>`,
  (_, address) => `<script src=${address}></script>`,
  (run) => `<script type=module>${run}</script>`,
  (run) => `<scr<script>ipt>${run}</scr</script>ipt>`,
  (run) => `<svg><script>${run}</script></svg>`,
  (run) => `<svg><script href="data:,${run}"/></svg>`,
  (run) => `</script><script>${run}</script>`,
];
const HANDLERS: readonly Make[] = [
  (run) => `<img src=x onerror=${run}>`,
  (run) => `<img src=x onerror="${run}">`,
  (run) => `<img/src=x/onerror=${run}>`,
  (run) => `<svg onload=${run}>`,
  (run) => `<svg/onload="${run}"//`,
  (run) => `<body onload=${run}>`,
  (run) => `<details open ontoggle=${run}>`,
  (run) => `<video><source onerror=${run}></video>`,
  (run) => `<audio src=x onerror=${run}>`,
  (run) => `<input autofocus onfocus=${run}>`,
  (run) => `<select autofocus onfocus=${run}>`,
  (run) => `<textarea autofocus onfocus=${run}>`,
  (run) => `<marquee onstart=${run}>`,
  (run) => `<div onpointerover=${run}>`,
  (run) => `" onmouseover=${run} x="`,
  (run) => `' onfocus=${run} autofocus x='`,
  (run) => `x onerror=${run}`,
  (run) => `<svg><animate onbegin=${run} attributeName=x dur=1s>`,
  (run) => `<svg><set attributeName=onmouseover to=${run}>`,
  (run) => `<style onload=${run}></style>`,
  (run) => `<object data=x onerror=${run}>`,
];
const LOADERS: readonly Make[] = [
  (_, address) => `<img src="${address}">`,
  (_, address) => `<img srcset="${address} 1x">`,
  (_, address) => `<picture><source srcset=${address}><img></picture>`,
  (_, address) => `<link rel=stylesheet href=${address}>`,
  (_, address) => `<link rel=prefetch href=${address}>`,
  (_, address) => `<link rel=icon href=${address}>`,
  (_, address) => `<iframe src="${address}"></iframe>`,
  (run) => `<iframe srcdoc="<script>${run}</script>"></iframe>`,
  (_, address) => `<object data="${address}"></object>`,
  (_, address) => `<embed src="${address}">`,
  (_, address) => `<video src=${address} autoplay></video>`,
  (_, address) => `<meta http-equiv=refresh content="0;url=${address}">`,
  (_, address) => `<base href="${address}">`,
  (_, address) => `<form action=${address}><button autofocus>x</form>`,
  (_, address) => `<style>@import url(${address});</style>`,
  (_, address) => `<style>*{background:url(${address})}</style>`,
  (_, address) => `<p style="background:url(${address})">x</p>`,
  (_, address) => `</style><style>body{background:url('${address}')}</style>`,
  (_, address) => `<svg><use href="${address}#x"/></svg>`,
  (_, address) => `<svg><image href="${address}"/></svg>`,
  (_, address) => `<svg><filter><feImage href="${address}"/></filter></svg>`,
  (_, address) => `<?xml-stylesheet href="${address}"?>`,
  (_, address) => `<body background=${address}>`,
  (_, address) => `<table background=${address}>`,
];
const LINKS: readonly Make[] = [
  (run) => `<a href="javascript:${run}">x</a>`,
  (run) => `<a href="java\tscript:${run}">x</a>`,
  (run) => `<a href=" &#14; javascript:${run}">x</a>`,
  (run) => `<a href="data:text/html,<script>${run}</script>">x</a>`,
  (run) => `<svg><a xlink:href="javascript:${run}"><text>x</text></a></svg>`,
  (run) => `<math href="javascript:${run}">x</math>`,
  (run) => `javascript:${run}`,
  (run) => `data:text/html;base64,${Buffer.from(`<script>${run}</script>`).toString("base64")}`,
  (_, address) => address,
];
const MUTATIONS: readonly Make[] = [
  (run) => `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  (run) => `<template><script>${run}</script></template>`,
  (run) => `<math><mtext><table><mglyph><style><!--</style><img title="--><img src=x onerror=${run}>">`,
  (run) => `<math><annotation-xml encoding="text/html"><img src=x onerror=${run}></annotation-xml></math>`,
  (run) => `<svg><foreignObject><img src=x onerror=${run}></foreignObject></svg>`,
  (run) => `<svg><style><img src=x onerror=${run}></style></svg>`,
  (run) => `<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=${run}>`,
  (run) => `<!--><img src=x onerror=${run}>-->`,
  (run) => `<!-- --!><img src=x onerror=${run}> -->`,
  (run) => `--><img src=x onerror=${run}><!--`,
  (run) => `<![CDATA[<img src=x onerror=${run}>]]>`,
  (run) => `]]><img src=x onerror=${run}>`,
  (run) => `</title><img src=x onerror=${run}>`,
  (run) => `</textarea><img src=x onerror=${run}>`,
  (run) => `</pre></details></main></body></html><img src=x onerror=${run}>`,
  (run) => `<xmp><img src=x onerror=${run}></xmp>`,
  (run) => `<plaintext><img src=x onerror=${run}>`,
  (run) => `<table><tr><td><img src=x onerror=${run}></table>`,
  (run) => `<select><option><img src=x onerror=${run}></select>`,
  (run) => `<div><template shadowrootmode=open><img src=x onerror=${run}></template></div>`,
];
const WORDS: readonly Make[] = [
  (run) => `[click](javascript:${run})`,
  (_, address) => `![image](${address})`,
  (_, address) => `[x]: ${address} "title"\n[x]`,
  (_, address) => `<${address}>`,
  (run) => `\`\`\`html\n<script>${run}</script>\n\`\`\``,
  (run) => `- <img src=x onerror=${run}>\n> # heading`,
  (run) => `\u001b]8;;javascript:${run}\u0007link\u001b]8;;\u0007`,
  (run) => `\u001b[2J\u001b[1;1H\u001b]0;${run}\u0007`,
  (run) => `{{constructor.constructor('${run}')()}}`,
  (run) => `\${${run}}`,
  (run) => `<%= ${run} %>`,
  (run) => `'};${run};//`,
  (run) => `\u202e<script>${run}</script>\u202c`,
  (run) => `\u2066\u2067<img src=x onerror=${run}>\u2069`,
  (run) => `\uff1cscript\uff1e${run}\uff1c/script\uff1e`,
  (run) => `\ud800<img src=x onerror=${run}>\udfff`,
  (run) => `\u2028<script>${run}</script>\u2029`,
  (run) => `<img\u000bsrc=x\u000conerror=${run}>`,
  (run) => `\ufeff\u200b\u0000<script>${run}</script>`,
];
const BASES: readonly Make[] = [...SCRIPTS, ...HANDLERS, ...LOADERS, ...LINKS, ...MUTATIONS, ...WORDS];

/** What stands around a payload, or is done to it: other readers take such things apart. */
const WRAPPERS: readonly ((payload: string) => string)[] = [
  (payload) => payload,
  (payload) => `"${payload}`,
  (payload) => `'>${payload}`,
  (payload) => `">${payload}<"`,
  (payload) => `<b>${payload}</b>`,
  (payload) => `&quot;&gt;${payload}`,
  (payload) => payload.replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  (payload) => payload.replaceAll("<", "&#60;"),
  (payload) => payload.replaceAll("<", "&#x3c"),
  (payload) => payload.replaceAll("<", "\\u003c"),
  (payload) => payload.replaceAll("<", "%3C"),
  (payload) => payload.replaceAll("<", "<\u0000"),
  (payload) => payload.replaceAll(" ", "\u0000"),
  (payload) => payload.replaceAll(" ", "/"),
  (payload) => payload.replaceAll("=", "\u00a0="),
  (payload) => payload.toUpperCase().replaceAll("RAN(", "ran("),
  (payload) => [...payload].map((one, place) => (place % 2 === 0 ? one : one.toUpperCase())).join(""),
  (payload) => `${payload}${payload}`,
  (payload) => `+ADw-script+AD4-${payload}`,
  (payload) => `\`${payload}\``,
  (payload) => `\n\n    ${payload}`,
  (payload) => `${"<".repeat(20)}${payload}${">".repeat(20)}`,
];

/** How many different ones there are. */
export const PAYLOADS: number = BASES.length * WRAPPERS.length * 5;

/** The payload of a number: every family in every wrapping. It begins with a word by which it is found on the page. */
export function payload(number: number, { address }: Target): string {
  const base = BASES[number % BASES.length] as Make;
  const wrap = WRAPPERS[Math.floor(number / BASES.length) % WRAPPERS.length] as (text: string) => string;
  const again = Math.floor(number / (BASES.length * WRAPPERS.length));
  const run = [
    `ran(${number})`,
    `window.ran(${number})`,
    `top['ran'](${number})`,
    `ran\`${number}\``,
    `eval('ran(${number})')`,
  ][again % 5];
  return `${mark(number)}${wrap(base(run as string, `${address}/${number}`))}`;
}

/** The word that a payload begins with. */
export function mark(number: number): string {
  return `mark${number}end`;
}
