/** Items of a list as they arrive. Parsing a whole page makes 100,000 values at once, and the heap would grow by tens of MB for good. */

interface ListItems {
  write(chunk: Buffer): void;
  /** What the list says besides its items, in whose place is an empty list. */
  end(): unknown;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const space = 0x20;
const [openList, closeList] = [0x5b, 0x5d];
const [openObject, closeObject] = [0x7b, 0x7d];
/** How deep one is within the list itself, and within its items. */
const [topDepth, itemsDepth] = [1, 2];

/** Items are handed over parsed. What is no JSON, or no list of objects, is a SyntaxError. */
export function createListItems(onItem: (item: unknown) => void): ListItems {
  let depth = 0;
  let inItems = false;
  let inString = false;
  let escaped = false;
  /** The last string at the top: of a value that begins there, its key. */
  let key = "";
  /** What earlier chunks had of the item at hand, and of everything else. */
  let begun: Buffer[] = [];
  const rest: Buffer[] = [];

  function finish(end: Buffer): void {
    const bytes = begun.length === 0 ? end : Buffer.concat([...begun, end]);
    begun = [];
    onItem(JSON.parse(bytes.toString()));
  }

  /** Where the string ends in which we are, or the chunk. */
  function skipString(chunk: Buffer, from: number): number {
    let at = from;
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (escaped) escaped = false;
      else if (byte === backslash) escaped = true;
      else if (byte === quote) {
        inString = false;
        break;
      }
    }
    if (depth === topDepth) key += chunk.toString("latin1", from, at);
    return at;
  }

  function write(chunk: Buffer): void {
    /** Where the item at hand, or what is none, begins in this chunk. */
    let from = 0;
    for (let at = inString ? skipString(chunk, 0) + 1 : 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (inItems && depth === itemsDepth) {
        if (byte === openObject) {
          from = at;
          depth += 1;
        } else if (byte === closeList) {
          from = at;
          depth -= 1;
          inItems = false;
        } else if (byte > space && byte !== comma) {
          throw new SyntaxError("an item that is no object");
        }
      } else if (byte === quote) {
        inString = true;
        if (depth === topDepth) key = "";
        at = skipString(chunk, at + 1);
      } else if (byte === openObject || byte === openList) {
        depth += 1;
        if (byte === openList && depth === itemsDepth && key === "items") {
          inItems = true;
          rest.push(chunk.subarray(from, at + 1));
        }
      } else if (byte === closeObject || byte === closeList) {
        depth -= 1;
        if (inItems && depth === itemsDepth) finish(chunk.subarray(from, at + 1));
      }
    }
    if (!inItems) rest.push(chunk.subarray(from));
    else if (depth > itemsDepth) begun.push(chunk.subarray(from));
  }

  return { write, end: () => JSON.parse(Buffer.concat(rest).toString()) };
}
