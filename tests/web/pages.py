"""The pages of the dashboard, and texts that each page shows for the data of a World."""

PAGES = {
    "overview": ("#/", ("Overview",)),
    "topics": ("#/topics", ("orders", "orders-eu", "mail", "render")),
    "topic": ("#/topics/orders-eu", ("orders-eu", "orders-*", "tenant-1", "0 of 2")),
    "jobs": ("#/jobs", ("order-001", "frame-0", "slow-1")),
    "jobs-of-a-state": ("#/jobs?state=dead&topic=invoices", ("invoice-3",)),
    "delayed-job": ("#/jobs/orders/order-001", ("order-001", "tenant-1", '"total"')),
    "leased-job": ("#/jobs/slow/slow-0", ("slow-0",)),
    "held-job": ("#/jobs/mail/mail-1", ("mail-1", "paused")),
    "dead-job": ("#/jobs/invoices/gone", ("gone", "410", "no longer here")),
    "delivered-job": ("#/jobs/orders/done-1", ("done-1", "delivered")),
    "pulled-job": ("#/jobs/render/frame-0", ("frame-0",)),
    "missing-job": ("#/jobs/orders/never-was", ("never-was",)),
    "dead": ("#/dead", ("500", "410")),
    "schedules": ("#/schedules", ("daily", "hourly")),
    "schedule": ("#/schedules/reports/daily", ("daily", "Europe/Berlin")),
    "workflows": ("#/workflows", ("order-1041", "signup-7", "import-3")),
    "active-workflow": ("#/workflows/qstash/order-1041", ("order-1041", "step 2", "waiting")),
    "waiting-workflow": ("#/workflows/qstash/signup-7", ("signup-7", "wait for an event")),
    "failed-workflow": ("#/workflows/qstash/import-3", ("import-3", "It failed")),
    "ended-workflow": ("#/workflows/qstash/report-9", ("report-9", "It succeeded")),
    "forecast": ("#/forecast", ("Calendar", "waiting jobs")),
    "limits": ("#/limits", ("stripe",)),
    "groups": ("#/groups", ("shops",)),
    "receivers": ("#/receivers", ("127.0.0.1:",)),
    "pull": ("#/pull", ("render", "thumbs")),
    "tokens": ("#/tokens", ("token",)),
    "audit": ("#/audit", ("settings replaced", "orders", "job cancelled")),
    "try": ("#/try", ("curl",)),
    "elsewhere": ("#/no/such/page", ()),
}


def show(browser, server, page):
    route, texts = PAGES[page]
    browser.open(server, route)
    browser.await_one("h1, h2")
    browser.await_text(*texts)
