"""PgQue's own Python client against this schema: consumer.py DSN. Prints what its Consumer handled, as JSON."""

import json
import os
import signal
import sys
import threading

import pgque

dsn = sys.argv[1]

with pgque.connect(dsn) as client:
    client.send("orders", {"n": 1}, type="order.created")
    client.send_batch("orders", "order.created", [{"n": 2}, {"n": 3}])
    client.send("orders", {"n": 4}, type="unknown")
    client.conn.commit()
    ticked = client.ticker("orders")
    client.conn.commit()

handled = []
failed = set()


def consume(**options):
    consumer = pgque.Consumer(dsn, queue="orders", name=options.pop("name"), retry_after=0, **options)

    @consumer.on("order.created")
    def handle(message):
        n = json.loads(message.payload)["n"]
        handled.append([n, message.retry_count])
        if n == 2 and not failed:
            failed.add(2)
            raise RuntimeError("fails once")
        if n == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    # sent while the consumer listens, so that only a notification brings it before the poll interval is over
    def send_last():
        with pgque.connect(dsn) as late:
            late.send("orders", {"n": 5}, type="order.created")
            late.conn.commit()
            late.ticker("orders")
            late.conn.commit()

    timer = threading.Timer(1.5, send_last)
    timer.start()
    consumer.start()
    timer.join()


consume(name="billing", poll_interval=600)
with pgque.connect(dsn) as client:
    client.subscribe_subconsumer("orders", "workers", "w1")
    client.conn.commit()
consume(name="workers", subconsumer="w1", dead_interval="5 minutes", poll_interval=600)
with pgque.connect(dsn) as client:
    left = [client.unsubscribe_subconsumer("orders", "workers", "w1") for _ in range(2)]
    client.conn.commit()
    try:
        client.receive("orders", "nobody")
    except pgque.PgqueConsumerNotFound as error:
        missing = type(error).__name__
print(json.dumps({"ticked": ticked, "handled": handled, "left": left, "missing": missing}))
