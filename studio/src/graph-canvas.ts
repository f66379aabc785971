import type { Folds } from "./folds";
import type { Bend, GraphPage, GraphRow, Lane } from "./types";

/** Draws the lanes of the rows in view: lines and dots only, all text is in the rows beside it. */

export type Look = {
  readonly rowHeight: number;
  readonly columnWidth: number;
  /** Columns that are drawn; the rest share the last one. */
  readonly columns: number;
  readonly colours: readonly string[];
  readonly paper: string;
  readonly ink: string;
  readonly soft: string;
  readonly tones: { readonly [tone: string]: string };
};

export type Fates = ReadonlyMap<number | string, string>;

/** The colours as the theme has them now. */
export function lookOf(element: Element, rowHeight: number, columns: number): Look {
  const probe = document.createElement("i");
  element.append(probe);
  const colourOf = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const look: Look = {
    rowHeight,
    columnWidth: 14,
    columns,
    colours: Array.from({ length: 8 }, (_, at) => colourOf(`lane-${at}`)),
    paper: colourOf("paper"),
    ink: colourOf("ink"),
    soft: colourOf("soft"),
    tones: {
      good: colourOf("good"),
      bad: colourOf("bad"),
      warn: colourOf("warn"),
      "what-if": colourOf("what-if"),
    },
  };
  probe.remove();
  return look;
}

export type View = {
  readonly top: number;
  readonly height: number;
  /** Where a row stands among those that are not folded away. */
  readonly folds: Folds;
  readonly pages: readonly GraphPage[];
  readonly fates: Fates;
  readonly chosen?: string;
};

/** Draws what is in view; a page that is not there yet leaves its rows empty. */
export function draw(canvas: HTMLCanvasElement, look: Look, view: View): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const ratio = window.devicePixelRatio || 1;
  const width = widthOf(look);
  const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(view.height * ratio)];
  if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
    canvas.width = pixelWidth;
    canvas.height = pixelHeight;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${view.height}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, view.height);
  const pen: Pen = { context, look, view };
  for (const page of view.pages) for (const lane of page.lanes) drawLane(pen, lane, page);
  for (const { lanes, bends } of view.pages) {
    const byNumber = new Map(lanes.map((lane) => [lane[0], lane]));
    for (const bend of bends) drawBend(pen, bend, byNumber.get(bend[3]));
  }
  for (const page of view.pages)
    for (const ends of page.ports) for (const row of ends) drawPort(pen, page, row);
  for (const page of view.pages)
    for (const [at, row] of page.rows.entries()) {
      if (view.folds.isHidden(page.first + at)) continue;
      const y = yOf(pen, page.first + at);
      if (y < -look.rowHeight || y > view.height + look.rowHeight) continue;
      drawDot(pen, row, y, row.id === view.chosen);
    }
}

export function widthOf(look: Pick<Look, "columns" | "columnWidth">): number {
  return look.columns * look.columnWidth + 8;
}

type Pen = { readonly context: CanvasRenderingContext2D; readonly look: Look; readonly view: View };

function xOf({ look }: Pen, column: number): number {
  return Math.min(column, look.columns - 1) * look.columnWidth + look.columnWidth / 2 + 4;
}

function yOf({ look, view }: Pen, row: number): number {
  return (view.folds.placeOf(row) - view.top) * look.rowHeight + look.rowHeight / 2;
}

function drawLane(pen: Pen, [, column, from, to, branch, colour]: Lane, page: GraphPage): void {
  // A line that goes beyond its page says the row beyond: each page draws its own part.
  const [start, end] = [Math.max(from, page.first - 1), Math.min(to, page.first + page.rows.length)];
  const [top, bottom] = [Math.max(yOf(pen, start), -40), Math.min(yOf(pen, end), pen.view.height + 40)];
  if (bottom > top) {
    const path = new Path2D();
    path.moveTo(xOf(pen, column), top);
    path.lineTo(xOf(pen, column), bottom);
    stroke(pen, path, colour, branch, (yOf(pen, start) - top) % 9);
  }
  if (to >= page.first + page.rows.length || pen.view.fates.get(branch) !== "rejected") return;
  // A rejected branch ends in a cross: its colour and its dashes are not the only signs.
  const [x, y] = [xOf(pen, column), yOf(pen, to) + 9];
  const { context } = pen;
  context.strokeStyle = pen.look.soft;
  context.lineWidth = 1.5;
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(x - 4, y - 4);
  context.lineTo(x + 4, y + 4);
  context.moveTo(x + 4, y - 4);
  context.lineTo(x - 4, y + 4);
  context.stroke();
}

function drawBend(pen: Pen, [row, from, to]: Bend, lane: Lane | undefined): void {
  const [y0, y1] = [yOf(pen, row), yOf(pen, row + 1)];
  if (y0 === y1) return;
  if (y1 < -40 || y0 > pen.view.height + 40) return;
  const [x0, x1] = [xOf(pen, from), xOf(pen, to)];
  const middle = (y0 + y1) / 2;
  const path = new Path2D();
  path.moveTo(x0, y0);
  path.bezierCurveTo(x0, middle, x1, middle, x1, y1);
  // What crosses gets a halo of paper, so that the eye keeps both lines apart.
  pen.context.setLineDash([]);
  pen.context.strokeStyle = pen.look.paper;
  pen.context.lineWidth = 6;
  pen.context.stroke(path);
  stroke(pen, path, lane?.[5] ?? 0, lane?.[4] ?? -1, 0);
}

/** The fate of a branch decides the dashes; the upper four colours are rails of two hairlines. */
function stroke(pen: Pen, path: Path2D, colour: number, branch: number, offset: number): void {
  const { context, look } = pen;
  const fate = pen.view.fates.get(branch);
  context.setLineDash(fate === "rejected" ? [6, 3] : fate === "what-if" ? [1.5, 3.5] : []);
  context.lineDashOffset = offset;
  context.lineCap = "butt";
  context.strokeStyle = look.colours[colour] ?? look.ink;
  context.lineWidth = colour < 4 ? 2 : 4;
  context.stroke(path);
  if (colour < 4) return;
  context.strokeStyle = look.paper;
  context.lineWidth = 1.5;
  context.stroke(path);
}

function drawPort(pen: Pen, page: GraphPage, row: number): void {
  const column = page.rows[row - page.first]?.column;
  if (column === undefined || pen.view.folds.isHidden(row)) return;
  const [x, y] = [xOf(pen, column), yOf(pen, row)];
  const { context, look } = pen;
  context.setLineDash([]);
  context.strokeStyle = look.soft;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x + 3, y - 9);
  context.lineTo(x + 8, y - 9);
  context.lineTo(x + 8, y - 5);
  context.stroke();
}

function drawDot({ context, look, view }: Pen, row: GraphRow, y: number, isChosen: boolean): void {
  const x = Math.min(row.column, look.columns - 1) * look.columnWidth + look.columnWidth / 2 + 4;
  const fill = look.tones[row.tone] ?? (row.tone === "quiet" ? look.soft : look.ink);
  const radius = row.tone === "quiet" ? 2.5 : 4;
  context.setLineDash([]);
  context.lineWidth = 2;
  context.strokeStyle = look.paper;
  context.fillStyle = fill;
  context.beginPath();
  if (row.flags.includes("in-doubt")) {
    context.moveTo(x, y - 6);
    context.lineTo(x + 6, y);
    context.lineTo(x, y + 6);
    context.lineTo(x - 6, y);
    context.closePath();
  } else if (row.flags.includes("waiting")) {
    context.rect(x - 4, y - 5, 3, 10);
    context.rect(x + 1, y - 5, 3, 10);
  } else if (row.tone === "bad") {
    context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
  } else {
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
  context.stroke();
  context.fill();
  if (row.branch !== undefined && view.fates.get(row.branch) === "what-if") {
    // A what-if is hollow: it did not happen to the world.
    context.fillStyle = look.paper;
    context.beginPath();
    context.arc(x, y, 2, 0, 2 * Math.PI);
    context.fill();
  }
  if (!isChosen) return;
  context.strokeStyle = look.tones["what-if"] ?? look.ink;
  context.lineWidth = 1.5;
  context.beginPath();
  context.arc(x, y, 7, 0, 2 * Math.PI);
  context.stroke();
}
