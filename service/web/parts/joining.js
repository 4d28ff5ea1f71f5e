// Joins the lines of a wrapped text, as in e-mails.

/**
 * A text without the breaks after long lines. Lists and quotations keep their lines.
 * @param {string} text
 */
export function joined(text) {
  return text.replace(/^(.{39,}|\p{Script=Han}.{18,})\n(?![-*•>|#]|\d+[.)])(?=(\S))/gmu, (_, line, after) => {
    const ended = line.trimEnd();
    return /[\p{Script=Han}，、]/u.test(ended.slice(-1) + after) ? ended : `${ended} `;
  });
}
