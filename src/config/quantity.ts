// Sizes as Kubernetes writes them: `512`, `64Ki`, `1.5M`, `1e3`.

const QUANTITY = /^[+-]?(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][-+]?\d+)?$/;

export const QUANTITY_PROBLEM = 'not a quantity: write a number with an optional unit such as k, M, Ki or Mi';

export function isQuantity(text: string): boolean {
  return QUANTITY.test(text);
}

/** True if the number before the unit is zero. */
export function isZeroQuantity(text: string): boolean {
  return !/[1-9]/.test(text.replace(/[a-zA-Z].*$/, ''));
}
