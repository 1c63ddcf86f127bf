/** 订单页面的文字。 */
import type { orders as english } from '../../en/console/orders.ts'

export const orders: typeof english = {
  lead: '全部订单及其经过。退款请使用 svc-gateway order refund。',
  none: '没有符合条件的订单。',
  created: '创建于',
  findings: '缺少什么',
  reference: '支付服务编号',
  payment: '付款编号',
  gave: '交付内容',
  actors: {
    member: '操作者：会员',
    operator: '操作者：管理员',
    notification: '来自支付服务的通知',
    return: '会员返回时',
    sweep: '由服务自动执行',
  },
}
