/** A client's request id is used if it is harmless. */
import t from 'tap'
import { requestId } from '../../../plugins/request-id.ts'
import { createTestExchange, createTestServices } from '../../support/gateway/test-exchange.ts'

const { services } = createTestServices()

function adopt(sent: string | string[] | undefined) {
  const x = createTestExchange({ inboundHeaders: { 'x-svc-request-id': sent } })
  void requestId.onRequest?.(x, services)
  return { id: x.id, echo: x.responseRequestId }
}

t.test('returns a valid id unchanged, and adds our prefix once', async (t) => {
  t.same(adopt('build-7'), { id: 'mbr_build-7', echo: 'build-7' })
  t.same(adopt('mbr_01ABC'), { id: 'mbr_01ABC', echo: 'mbr_01ABC' })
  t.same(adopt('a'.repeat(64)), { id: `mbr_${'a'.repeat(64)}`, echo: 'a'.repeat(64) })
})

t.test('ignores any other id and keeps the generated one', async (t) => {
  for (const sent of [undefined, '', 'a'.repeat(65), 'a b', 'a\nb', 'ä', '<x>', ['a', 'b'], '../../etc']) {
    t.same(adopt(sent), { id: 'mbr_01TEST', echo: 'mbr_01TEST' }, String(sent))
  }
})
