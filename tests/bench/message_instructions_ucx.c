/* The same over UCX's loopback ("self"): tagged send and receive of 8 bytes on one worker, to completion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ucp/api/ucp.h>

static ucp_worker_h worker;
static ucp_ep_h endpoint;
static char ping[8], pong[8];

static void check(ucs_status_t status, const char* what) {
    if (status == UCS_OK) return;
    fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
    exit(1);
}

static void finish(ucs_status_ptr_t request) {
    if (request == NULL) return;
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "request");
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker);
    ucp_request_free(request);
}

static void one_message(void) {
    ucp_request_param_t param = {.op_attr_mask = 0};
    ucs_status_ptr_t receive = ucp_tag_recv_nbx(worker, pong, sizeof pong, 1, (ucp_tag_t)-1, &param);
    finish(ucp_tag_send_nbx(endpoint, ping, sizeof ping, 1, &param));
    finish(receive);
}

int main(int count, char** arguments) {
    ucp_context_h context;
    ucp_config_t* config;
    check(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    check(ucp_init(&params, config, &context), "ucp_init");
    ucp_config_release(config);
    ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                         .thread_mode = UCS_THREAD_MODE_SINGLE};
    check(ucp_worker_create(context, &worker_params, &worker), "ucp_worker_create");
    ucp_address_t* address;
    size_t length;
    check(ucp_worker_get_address(worker, &address, &length), "ucp_worker_get_address");
    ucp_ep_params_t ep_params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
    check(ucp_ep_create(worker, &ep_params, &endpoint), "ucp_ep_create");
    for (long left = count > 1 ? atol(arguments[1]) : 1; left > 0; --left) one_message();
    return 0;
}
