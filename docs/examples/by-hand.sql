select pgque.create_queue('emails');
select pgque.subscribe('emails', 'sender', '{"mode": "shared"}');

begin;
select pgque.send('emails', 'welcome', '{"to": "ada@example.org"}');
commit;

-- a batch of messages, held under a lease; ack by its batch_id, or give some of them back with nack
select batch_id, msg_id, type, payload from pgque.receive('emails', 'sender', 10);

-- about once a second, from anywhere: gives back what a dead worker held, delivers what is due, rotates
select pgque.maintain();
