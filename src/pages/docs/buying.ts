import type { DocsPage } from './docs-page.ts'

export const buying: DocsPage = {
  path: '/docs/buying',
  title: { en: 'Buying', zh: '购买' },
  group: 'guide',
  write: ({ services, site }) => {
    const { contactUrl } = services.config.site
    const operator = contactUrl === null ? 'the operator of this service' : `[the operator](${contactUrl})`
    const operatorZh = contactUrl === null ? '本服务的管理员' : `[管理员](${contactUrl})`
    if (services.orders === null)
      return {
        en: `# Buying

This site takes no payment. [Plans](${site}/plans) shows what there is; to get one, ask ${operator}, or [redeem a code](${site}/redeem).
`,
        zh: `# 购买

本站不收款。[套餐](${site}/plans)页列出了现有套餐；如需开通，请联系${operatorZh}，或[使用兑换码](${site}/redeem)。
`,
      }
    return {
      en: `# Buying

## Buy a plan or a pack {#buy}

1. [Plans](${site}/plans) has the prices, and what each plan adds to yours. Press the button of one.
2. The checkout shows what the purchase does, when it begins and ends, and what you pay. Nothing is charged yet.
3. Pay on the page of the payment service, or as the instructions say. No card data passes through this site.
4. You come back to the page of your order. What you bought is there as soon as the payment is seen, mostly within seconds.

In a terminal: \`svc plans\`, then \`svc buy pro --yearly\` or \`svc buy pack small\`. It prints the address where you pay, and waits.

## What a purchase does {#rules}

- **Your first plan** begins at once.
- **The same plan again** moves its end by the month or year. What you have used stays used.
- **A higher plan** begins at once. Unused whole days of the lower one are taken off its price, rounded down; nothing is paid out.
- **A lower plan** begins when the higher one ends.
- **A pack** is used when your plan is used up, the one that expires first before the others.

Day, week and month are calendar periods and do not begin anew with a purchase. To have more now, take a higher plan or a pack. What a token costs is no part of a plan.

## Paid, and nothing arrived {#missing}

Open the order under [Orders](${site}/account/orders) and press **Check now**: the site asks the payment service at once. It also asks by itself, again and again, so a closed page loses nothing. The order says what is missing. If the money came but cannot be delivered, the operator is told and can deliver or refund it.

## Renewals {#renewals}

Whether a plan renews by itself stands at the checkout and under [Orders](${site}/account/orders). You get an email a week before. If a payment fails, the plan goes on for some days while it is tried again.

If the price or the contents change to your disadvantage, this applies only after an email 30 days before, in which you can cancel by one click. Until then your plan stays as you bought it.

## Cancel {#cancel}

Cancel a renewal under [Orders](${site}/account/orders), or by the link in the email about it. The plan stays to the end of what is paid. Cancel an order that is not paid on its own page.

## Receipts and invoices {#receipts}

Each paid order has a receipt that you can print or save as PDF; it also comes by email. Cards and the invoices of the payment service are behind **Cards and invoices**.

## Keep bought packs {#packs}

Under [Orders](${site}/account/orders) you can keep bought packs: requests are then refused when the plan is used up, until it resets.

## Money back: refunds {#refunds}

Ask ${operator} with the number of the order. A refunded plan ends at once. Of a pack, only credits that are neither spent nor held are refundable; they are locked while the money is on its way, and come back to you if the refund fails. Banks take up to ten days.
`,
      zh: `# 购买

## 购买套餐或加油包 {#buy}

1. [套餐](${site}/plans)页列出价格，以及每个套餐比你当前的套餐多出的内容。点击其中一个按钮。
2. 结算页显示购买的内容、开始与结束时间和应付金额。此时不会扣款。
3. 在支付服务的页面付款，或按说明付款。本站不会接触银行卡信息。
4. 付款后会回到订单页。看到付款后购买的内容立即到账，通常只需几秒。

也可以在终端中运行 \`svc plans\`，再运行 \`svc buy pro --yearly\` 或 \`svc buy pack small\`。命令会显示付款地址并等待。

## 购买后会怎样 {#rules}

- **首个套餐**立即开始。
- **再次购买同一套餐**会将到期时间顺延一个月或一年，已使用的额度不会清零。
- **更高的套餐**立即开始。较低套餐未使用的整天会从价格中抵扣（向下取整），不会退还现金。
- **较低的套餐**在较高的套餐结束后开始。
- **加油包**在套餐额度用完后使用，先到期的先使用。

日、周、月按日历计算，不会因购买而重新开始。现在就需要更多额度，请选择更高的套餐或加油包。token 单价不属于套餐内容。

## 已付款但没有到账 {#missing}

在[订单](${site}/account/orders)中打开该订单，点击“立即查询”，系统会马上向支付服务查询。系统也会自动反复查询，因此关闭页面不会有损失。订单页会说明缺少什么。如果款项已到但无法开通，管理员会收到通知，并可为你开通或退款。

## 续费 {#renewals}

套餐是否自动续费，在结算页和[订单](${site}/account/orders)页中注明。续费前一周会发送邮件。如果扣款失败，套餐会再保留几天，期间会再次尝试扣款。

如果价格或内容发生对你不利的变更，须提前 30 天以邮件通知后才会生效，你可以在邮件中一键取消。在此之前套餐保持购买时的内容。

## 取消 {#cancel}

在[订单](${site}/account/orders)页或邮件中的链接取消续费，套餐可使用到已付款时间的结束。未付款的订单可在其页面取消。

## 收据与发票 {#receipts}

每笔已付款的订单都有收据，可打印或存为 PDF，也会通过邮件发送。银行卡和支付服务的发票在“银行卡与发票”中。

## 保留加油包 {#packs}

在[订单](${site}/account/orders)页可以选择保留购买的加油包：套餐额度用完后请求会被拒绝，直到额度重置。

## 退款 {#refunds}

请将订单号告知${operatorZh}。退款后套餐立即结束。加油包只退还既未使用也未占用的点数；退款期间这些点数会锁定，如果退款失败则归还。银行最多需要十天。
`,
    }
  },
}
