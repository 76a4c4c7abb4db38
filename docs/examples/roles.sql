-- produces, whatever the queue
grant pgque_writer to shop;

-- works one queue, and cannot read another
select pgque.grant_queue('orders', 'billing', 'receive');
select pgque.grant_queue('invoices', 'billing', 'send');

-- looks: pgque status, top, doctor
grant pgque_viewer to dashboard;

-- looks, and fixes
grant pgque_admin to oncall;
