// A matrix of probabilities as a picture, with the tokens of its rows and columns.

import { make } from "../dom.js";

const LEAST_CELL = 24, MOST_CELL = 40, LABEL = 92, FONT = 13;

/** @typedef {{ink: string, muted: string, accent: string, line: string}} Colours */

/** The colours of the page as they are now. @returns {Colours} */
export function colours() {
  const probe = make("span"), style = getComputedStyle(document.body.appendChild(probe));
  const own = (/** @type {string} */ name) => {
    probe.style.color = `var(--${name})`;
    return style.color;
  };
  if (matchMedia("(forced-colors: active)").matches) {
    return { ink: "CanvasText", muted: "CanvasText", accent: "Highlight", line: "GrayText" };
  }
  const found = { ink: own("ink"), muted: own("muted"), accent: own("accent"), line: own("line") };
  probe.remove();
  return found;
}

/**
 * Prepares a canvas of this size in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function prepared(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(ratio, ratio);
  context.clearRect(0, 0, width, height);
  return context;
}

/**
 * Draws the cells alone, as many as fit.
 * @param {HTMLCanvasElement} canvas
 * @param {number[][]} matrix
 * @param {number} size in CSS pixels
 */
export function drawSmall(canvas, matrix, size) {
  const context = prepared(canvas, size, size);
  const { accent, line } = colours();
  const width = size / (matrix[0]?.length || 1), height = size / (matrix.length || 1);
  context.fillStyle = accent;
  matrix.forEach((row, y) => row.forEach((share, x) => {
    context.globalAlpha = shade(share);
    context.fillRect(x * width, y * height, width, height);
  }));
  context.globalAlpha = 1;
  context.strokeStyle = line;
  context.strokeRect(0.5, 0.5, size - 1, size - 1);
}

/**
 * Draws the matrix with its tokens; one row stands out.
 * @param {HTMLCanvasElement} canvas
 * @param {number[][]} matrix
 * @param {string[]} rows
 * @param {string[]} columns
 * @param {number} chosen
 */
export function drawLarge(canvas, matrix, rows, columns, chosen) {
  const room = (canvas.parentElement?.clientWidth ?? 0) - LABEL - 24;
  const cell = Math.floor(Math.max(LEAST_CELL, Math.min(MOST_CELL, room / columns.length)));
  const context = prepared(canvas, LABEL + columns.length * cell + 2, LABEL + rows.length * cell + 2);
  const { ink, muted, accent, line } = colours();
  context.font = `${FONT}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  columns.forEach((token, x) => {
    context.save();
    context.translate(LABEL + x * cell + cell / 2, LABEL - 8);
    context.rotate(-Math.PI / 3);
    context.fillStyle = muted;
    context.fillText(fitted(context, token, LABEL - 12), 0, 0);
    context.restore();
  });
  matrix.forEach((row, y) => {
    const top = LABEL + y * cell;
    const isChosen = y === chosen;
    context.fillStyle = isChosen ? ink : muted;
    context.font = `${isChosen ? "bold " : ""}${FONT}px system-ui, sans-serif`;
    context.textAlign = "right";
    context.fillText(fitted(context, rows[y], LABEL - 12), LABEL - 8, top + cell / 2);
    context.textAlign = "left";
    row.forEach((share, x) => {
      context.globalAlpha = shade(share);
      context.fillStyle = accent;
      context.fillRect(LABEL + x * cell + 1, top + 1, cell - 2, cell - 2);
      context.globalAlpha = 1;
      context.strokeStyle = line;
      context.strokeRect(LABEL + x * cell + 0.5, top + 0.5, cell - 1, cell - 1);
    });
    if (isChosen) {
      context.strokeStyle = ink;
      context.lineWidth = 2;
      context.strokeRect(LABEL, top, columns.length * cell, cell);
      context.lineWidth = 1;
    }
  });
}

/**
 * The row at a place of a large picture; -1 outside.
 * @param {HTMLCanvasElement} canvas
 * @param {number} y in CSS pixels
 * @param {number} count
 */
export function rowAt(canvas, y, count) {
  const row = Math.floor(((y - LABEL) * count) / (canvas.clientHeight - LABEL));
  return row >= 0 && row < count ? row : -1;
}

/** Small shares are to be seen too. @param {number} share */
function shade(share) {
  return Math.sqrt(Math.max(0, Math.min(1, share)));
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} width
 */
function fitted(context, text, width) {
  let shown = text;
  while (shown.length > 1 && context.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  return shown;
}
