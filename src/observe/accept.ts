// In: an Accept header. Out: the media ranges it names, most wanted first, so that a page can pick the first it has.

export interface MediaRange {
  /** `text/plain`, lower case. */
  readonly type: string;
  /** Names in lower case, `q` left out. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly quality: number;
}

/** Without a header anything is welcome. Ranges of equal quality keep their order; those with quality 0 are refused. */
export function acceptedRanges(header: string | undefined): MediaRange[] {
  const text = header?.trim() ? header : '*/*';
  return text
    .split(',')
    .map((part) => mediaRange(part))
    .filter((range) => range.quality > 0 && range.type !== '')
    .sort((a, b) => b.quality - a.quality);
}

function mediaRange(text: string): MediaRange {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  const pairs = rest.map((part): [string, string] => {
    const equals = part.indexOf('=');
    const name = (equals < 0 ? part : part.slice(0, equals)).trim().toLowerCase();
    return [
      name,
      equals < 0
        ? ''
        : part
            .slice(equals + 1)
            .trim()
            .replace(/^"|"$/g, ''),
    ];
  });
  const quality = Number(pairs.find(([name]) => name === 'q')?.[1] ?? '1');
  return {
    type: type.toLowerCase(),
    parameters: Object.fromEntries(pairs.filter(([name]) => name !== 'q')),
    quality: Number.isFinite(quality) ? quality : 0,
  };
}
