/** What somebody else wrote, cut to what a sentence can bear. */
export function shorten(text: string, mostChars: number): string {
  return text.length > mostChars ? `${text.slice(0, mostChars)}…` : text;
}
