/** A caller's own trace id is used where it is harmless, and ignored where it is not. */
import t from 'tap'
import { requestId } from '../../plugins/request-id.ts'
import { anExchange, fewServices } from '../support/exchange.ts'

const { services } = fewServices()

function adopt(sent: string | string[] | undefined) {
  const x = anExchange({ sent: { 'x-svc-request-id': sent } })
  void requestId.onRequest?.(x, services)
  return { id: x.id, echo: x.echo }
}

t.test('an acceptable id is echoed as it is, and carries our prefix once', async (t) => {
  t.same(adopt('build-7'), { id: 'mbr_build-7', echo: 'build-7' })
  t.same(adopt('mbr_01ABC'), { id: 'mbr_01ABC', echo: 'mbr_01ABC' })
  t.same(adopt('a'.repeat(64)), { id: `mbr_${'a'.repeat(64)}`, echo: 'a'.repeat(64) })
})

t.test('anything else is ignored: the exchange keeps the id it was born with', async (t) => {
  for (const sent of [undefined, '', 'a'.repeat(65), 'a b', 'a\nb', 'ä', '<x>', ['a', 'b'], '../../etc']) {
    t.same(adopt(sent), { id: 'mbr_01TEST', echo: 'mbr_01TEST' }, String(sent))
  }
})
