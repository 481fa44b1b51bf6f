"""Sends {"n": FIRST} to {"n": LAST} to a topic with a broker's own Python client.

    send.py BROKER ADDRESS TOPIC FIRST LAST

Each number is sent again until the broker confirms it, under the same id where the broker has ids.
"""

import asyncio
import json
import sys
import time
import urllib.parse

TIMEOUT = 180


def again(send, connect):
    """Returns a function that calls send(connection, n) until it succeeds, on new connections."""
    state = {}

    def one(n):
        end = time.time() + TIMEOUT
        while True:
            try:
                if "c" not in state:
                    state["c"] = connect()
                return send(state["c"], n)
            except Exception:
                state.pop("c", None)
                if time.time() > end:
                    raise
                time.sleep(0.2)

    return one


def body(n):
    return json.dumps({"n": n}).encode()


def kafka(address, topic, numbers):
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "message.timeout.ms": TIMEOUT * 1000})
    failed = []

    def confirmed(error, _):
        if error is not None:
            failed.append(error)

    for n in numbers:
        producer.produce(topic, body(n), key=str(n % 50), on_delivery=confirmed)
        producer.poll(0)
        time.sleep(0.001)
    left = producer.flush(TIMEOUT)
    if left or failed:
        raise SystemExit(f"{left} records are not confirmed: {failed[:1]}")


def rabbitmq(address, topic, numbers):
    import pika

    def connect():
        channel = pika.BlockingConnection(pika.URLParameters(address)).channel()
        channel.confirm_delivery()
        return channel

    def send(channel, n):
        properties = pika.BasicProperties(message_id=f"m{n}", delivery_mode=2, content_type="application/json")
        channel.basic_publish("", topic, body(n), properties, mandatory=True)

    each(again(send, connect), numbers)


def sqs(address, topic, numbers):
    import boto3

    client = boto3.client("sqs", endpoint_url=address, region_name="elasticmq", aws_access_key_id="x", aws_secret_access_key="x")
    url = client.get_queue_url(QueueName=topic)["QueueUrl"]
    for start in range(0, len(numbers), 10):
        entries = [{"Id": str(n), "MessageBody": body(n).decode()} for n in numbers[start:start + 10]]
        end = time.time() + TIMEOUT
        while entries:
            try:
                answer = client.send_message_batch(QueueUrl=url, Entries=entries)
            except Exception:
                if time.time() > end:
                    raise
                time.sleep(0.2)
                continue
            refused = {f["Id"] for f in answer.get("Failed", [])}
            entries = [e for e in entries if e["Id"] in refused]
            if entries and time.time() > end:
                raise SystemExit(f"{len(entries)} messages are refused: {answer['Failed'][0]}")


def nats(address, topic, numbers):
    import nats as client

    async def run():
        nc = await client.connect(address, max_reconnect_attempts=-1, reconnect_time_wait=0.2)
        js = nc.jetstream(timeout=2)
        for n in numbers:
            end = time.time() + TIMEOUT
            while True:
                try:
                    await js.publish(topic, body(n), headers={"Nats-Msg-Id": f"m{n}"})
                    break
                except Exception:
                    if time.time() > end:
                        raise
                    await asyncio.sleep(0.2)
        await nc.close()

    asyncio.run(run())


def redis(address, topic, numbers):
    import redis as client

    host, port = address.split(":")
    # An entry of a stream has no id of its sender's: the consumer's key is the number.
    each(again(lambda c, n: c.xadd(topic, {"n": n}), lambda: client.Redis(host, int(port))), numbers)


def postgres(address, topic, numbers):
    import psycopg

    url = urllib.parse.urlsplit(address)
    with psycopg.connect(url._replace(query="sslmode=disable").geturl()) as conn:
        schema = urllib.parse.parse_qs(url.query)["schema"][0]
        for n in numbers:
            conn.execute(
                f"INSERT INTO {schema}.headrace_queue (topic, consumer_group, payload) VALUES (%s, 'foreign', %s)", (topic, body(n)))
            conn.commit()


def each(send, numbers):
    for n in numbers:
        send(n)


if __name__ == "__main__":
    broker, address, topic, first, last = sys.argv[1:]
    {"kafka": kafka, "rabbitmq": rabbitmq, "sqs": sqs, "nats": nats, "redis": redis, "postgres": postgres}[broker](
        address, topic, range(int(first), int(last) + 1))
