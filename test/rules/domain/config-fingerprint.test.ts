/** Comparison of configuration fingerprints. */
import t from 'tap'
import { findDifferingSections } from '../../../src/domain/config-fingerprint.ts'

t.test('finds the sections in which any two fingerprints differ', async (t) => {
  t.same(findDifferingSections([]), [])
  t.same(findDifferingSections([{ plans: '1', prices: '1' }]), [])
  t.same(
    findDifferingSections([
      { plans: '1', prices: '1' },
      { plans: '1', prices: '2' },
      { plans: '3', prices: '1' },
    ]),
    ['plans', 'prices'],
  )
})

t.test('does not compare a section that only one version has', async (t) => {
  t.same(findDifferingSections([{ plans: '1' }, { plans: '1', retention: '2' }]), [])
  t.same(findDifferingSections([{ plans: '1' }, { plans: '1', retention: '2' }, { plans: '1', retention: '3' }]), ['retention'])
})
