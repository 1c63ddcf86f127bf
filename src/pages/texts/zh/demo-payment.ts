/** 演示付款页的文字。 */
import type { demoPayment as english } from '../en/demo-payment.ts'

const chosenBefore = '之前已做过选择，只计一次。'

export const demoPayment: typeof english = {
  title: '演示付款',
  lead: '此页代表银行的付款页。不会实际扣款，请选择结果。',
  buys: '购买内容',
  amount: '金额',
  order: '订单',
  pay: '付款',
  late: '付款，一分钟后到账',
  lose: '付款，但通知丢失',
  fail: '银行卡被拒',
  paid: '已付款，商家已收到通知。',
  isLate: '已付款，一分钟后到账，届时通知商家。',
  lost: '已付款，但商家没有收到通知。返回商家页面即可查到；关闭此页，商家也会在数秒后自行查询。',
  failed: '银行卡被拒，没有扣款。',
  closed: '商家已关闭这笔付款，没有扣款。',
  expired: '付款时间已过，没有扣款。',
  back: '返回商家',
  notices: { pay_again: chosenBefore, late_again: chosenBefore, lose_again: chosenBefore, fail_again: chosenBefore },
}
