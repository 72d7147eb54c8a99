// One number of a metrics page.

/** Of the first series that has these labels, and maybe more; NaN if there is none. */
export function metricValue(page: string, name: string, labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = page
    .split('\n')
    .find((text) => text.startsWith(`${name}{`) && wanted.every((label) => text.includes(label)));
  return Number(line?.split(' ').at(-1));
}
