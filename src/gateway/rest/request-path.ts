/** What a request asks for, as the network's router reads it: escapes undone, and a path that is not clean sent elsewhere. */

export type RequestPath =
  | { readonly kind: "path"; readonly path: string; readonly query: string }
  /** There is a shorter way to say it. */
  | { readonly kind: "unclean"; readonly location: string }
  | { readonly kind: "malformed" };

/** A scheme and who is asked, where a client names them as if we were a proxy. */
const absoluteForm = /^https?:\/\/[^/?]*/i;

export function readPath(target: string): RequestPath {
  const origin = target.startsWith("/") ? "" : (absoluteForm.exec(target)?.[0] ?? "");
  const questionMark = target.indexOf("?", origin.length);
  const raw = questionMark < 0 ? target.slice(origin.length) : target.slice(origin.length, questionMark);
  const query = questionMark < 0 ? "" : target.slice(questionMark + 1);
  const path = raw.includes("%") ? unescaped(raw) : raw;
  if (path === undefined) return { kind: "malformed" };
  if (!mayBeUnclean.test(path)) return { kind: "path", path, query };
  const clean = cleaned(path);
  if (clean === path) return { kind: "path", path, query };
  return { kind: "unclean", location: `${origin}${escaped(clean)}${questionMark < 0 ? "" : `?${query}`}` };
}

/** Not beginning with a slash, or having two of them in a row, or a piece that begins with a dot. */
const mayBeUnclean = /^(?!\/)|\/[/.]/;

function cleaned(path: string): string {
  const pieces: string[] = [];
  for (const piece of path.split("/")) {
    if (piece === "..") pieces.pop();
    else if (piece !== "" && piece !== ".") pieces.push(piece);
  }
  const isFolder = path.endsWith("/") && pieces.length > 0;
  return `/${pieces.join("/")}${isFolder ? "/" : ""}`;
}

function unescaped(text: string): string | undefined {
  if (/%(?![0-9a-f]{2})/i.test(text)) return undefined;
  const bytes = text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}

/** Go's choice of what stays as it is in a path. */
function escaped(path: string): string {
  return path.replace(/[^A-Za-z0-9\-_.~$&+,/:;=@]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}
