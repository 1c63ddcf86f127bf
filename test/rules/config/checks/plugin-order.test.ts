/** A wrong order of plugins stops the server with a sentence that names both. */
import t from 'tap'
import base from '../../../../gateway.config.ts'
import { findOrderErrors } from '../../../../src/config/checks/plugin-order.ts'
import type { AnyPlugin } from '../../../../src/exchange/plugins/plugin.ts'

const auth: AnyPlugin = { name: 'auth', gives: ['caller'] }
const limit: AnyPlugin = { name: 'limit', needs: ['caller'], gives: ['admission'] }

t.test('accepts the shipped list and the empty list', async (t) => {
  t.same(findOrderErrors(base.plugins as AnyPlugin[]), [])
  t.same(findOrderErrors([]), [])
})

t.test('describes each error with one sentence that names the plugins and the remedy', async (t) => {
  for (const [plugins, sentence] of [
    [[limit, auth], "plugin 'limit' needs 'caller', which 'auth' fills; list 'auth' before it"],
    [[limit], "plugin 'limit' needs 'caller', which no listed plugin fills"],
    [[auth, limit, limit], "plugin 'limit' is listed twice; list it once"],
    [[auth, { name: 'other', gives: ['caller'] }], "plugins 'auth' and 'other' both fill 'caller'; only one can"],
    [
      [{ ...auth, on: 'turn' }, limit],
      "plugin 'limit' runs on every exchange but needs 'caller', which 'auth' fills only on turns; add on: 'turn'",
    ],
    [[{ name: 'hold', followedBy: ['refund'] }], "plugin 'hold' needs 'refund' after it; list 'refund' after it"],
    [
      [{ name: 'refund' }, { name: 'hold', followedBy: ['refund'] }],
      "plugin 'hold' needs 'refund' after it; list 'refund' after it",
    ],
  ] as [AnyPlugin[], string][]) {
    t.ok(findOrderErrors(plugins).includes(sentence), sentence)
  }
})

t.test('reports hooks that could never run, or not as intended', async (t) => {
  for (const [plugin, sentence] of [
    [
      { name: 'words', onReqest() {} },
      "plugin 'words' has 'onReqest', which is no hook and would not run; the hooks are onRequest, onResponse, onEvent, onFailure, onSettle",
    ],
    [{ name: 'words', onRequest: true }, "plugin 'words': onRequest must be a function"],
    [{ name: 'words', needs: 'caller' }, "plugin 'words': needs must be a list, as in ['chat']"],
    [{ name: 'words', gives: 5 }, "plugin 'words': gives must be a list, as in ['chat']"],
    [{ name: 'words', on: 'turns' }, "plugin 'words': on must be 'turn', or left out"],
    [{ name: '' }, 'plugins: one has no name; give it a name of one word'],
  ] as const) {
    t.same(findOrderErrors([auth, plugin as unknown as AnyPlugin]), [sentence])
  }
  class Counter {
    readonly name = 'counter'
    readonly ongoing = 0
    onRequest(): void {}
  }
  t.same(findOrderErrors([new Counter()]), [], 'accepts an instance of a class')
})

t.test('refuses every other order of two dependent shipped plugins', async (t) => {
  const plugins = base.plugins as AnyPlugin[]
  for (let i = 0; i < plugins.length; i++) {
    for (let j = i + 1; j < plugins.length; j++) {
      const [early, late] = [plugins[i], plugins[j]]
      if (early === undefined || late === undefined) continue
      if (!(late.needs ?? []).some((slot) => (early.gives ?? []).includes(slot))) continue
      const swapped = plugins.with(i, late).with(j, early)
      t.not(findOrderErrors(swapped).length, 0, `${late.name} before ${early.name} is refused`)
    }
  }
})

t.test('refuses the shipped list without a plugin that money or rights depend on', async (t) => {
  const plugins = base.plugins as AnyPlugin[]
  for (const left of plugins) {
    const faults = findOrderErrors(plugins.filter((plugin) => plugin !== left))
    // Without the last of these every turn is rejected and refunded, which is a choice.
    if (['request-id', 'rate-limit', 'upstream-mapping'].includes(left.name)) t.same(faults, [], left.name)
    else t.match(faults.join('\n'), /which no listed plugin fills|list '[a-z-]+' after it/, left.name)
  }
})
