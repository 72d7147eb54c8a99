// The timeline: each change with the time it took, stage by stage.
import type { ChangeShape } from '../src/observe/console/shapes.ts';
import { el } from './dom.ts';
import { agoText, clockText, millisecondsText } from './format.ts';

export function changeItem(change: ChangeShape, isNamed: boolean): HTMLElement {
  const { services, changed, family, wasFull, stages, totalMs, sinceChangeMs, at } = change;
  const more = changed - services.length;
  return el(
    'li',
    { class: 'change' },
    el(
      'time',
      { datetime: new Date(at).toISOString(), title: new Date(at).toLocaleString() },
      clockText(at),
      el('small', {}, agoText(at)),
    ),
    el(
      'div',
      { class: 'change-body' },
      isNamed &&
        el(
          'p',
          { class: 'change-services' },
          ...(changed === 0
            ? [el('span', { class: 'quiet' }, 'rules compared and put right')]
            : services.map((name) => el('a', { href: `#/service/${name}` }, name))),
          more > 0 && el('span', { class: 'quiet' }, `and ${more} more`),
        ),
      el(
        'div',
        {
          class: 'stages',
          role: 'img',
          'aria-label': stages.map(({ name, ms }) => `${name} ${millisecondsText(ms)}`).join(', '),
        },
        ...stages.map(({ name, ms }) => stage(name, ms, totalMs)),
      ),
      el(
        'p',
        { class: 'quiet' },
        `${family} · ${millisecondsText(totalMs)}${wasFull ? ' · all rules written' : ''}`,
        sinceChangeMs !== undefined &&
          el('b', {}, ` · in the kernel ${millisecondsText(sinceChangeMs)} after the change`),
      ),
    ),
  );
}

function stage(name: string, ms: number, totalMs: number): HTMLElement {
  const element = el(
    'span',
    { class: `stage-part ${name}`, title: `${name}: ${millisecondsText(ms)}` },
    ms / totalMs > 0.16 ? `${name} ${millisecondsText(ms)}` : '',
  );
  element.style.flexGrow = String(Math.max(0.02, ms / totalMs));
  return element;
}

export function timelineView(changes: readonly ChangeShape[]): HTMLElement {
  return el(
    'section',
    { class: 'page' },
    el('h2', {}, 'Changes'),
    el(
      'p',
      { class: 'lead' },
      'Every sync that changed something, and how long each stage took: looking at the machine, planning, comparing, writing to the kernel.',
    ),
    changes.length === 0
      ? el('p', { class: 'quiet' }, 'None yet.')
      : el('ol', { class: 'changes' }, ...changes.map((change) => changeItem(change, true))),
  );
}
